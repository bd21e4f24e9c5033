// The least a broadcaster in Node can do for the same frames: parse, number, stringify once, send to everybody.
// No store, no checks, no state but one object: a lower bound for a host in Node, not a host.
const { WebSocketServer } = require("ws");
const { readFileSync } = require("fs");
const server = new WebSocketServer({ port: Number(process.argv[2]), host: "127.0.0.1" });
let seq = 0;
const config = {};
server.on("connection", (socket) => {
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    const params = message.params;
    if (message.method === "dispatchAction") {
      Object.assign(config, params.action.config);
      const envelope = { channel: params.channel, action: params.action, serverSeq: ++seq };
      envelope.origin = { clientId: socket.clientId, clientSeq: params.clientSeq };
      const text = JSON.stringify({ jsonrpc: "2.0", method: "action", params: envelope });
      for (const client of server.clients) client.send(text);
      return;
    }
    let result = null;
    if (message.method === "initialize") {
      socket.clientId = params.clientId;
      const state = { agents: [], config: { schema: { type: "object", properties: {} }, values: config } };
      result = { protocolVersion: "0.9.0", serverSeq: seq, snapshots: [{ resource: params.channel, state, fromSeq: seq }] };
    } else if (message.method === "resourceRead") {
      const path = decodeURIComponent(new URL(params.uri).pathname);
      result = { data: readFileSync(path).toString("base64"), encoding: "base64" };
    }
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
});
server.on("listening", () => console.log("listening"));
