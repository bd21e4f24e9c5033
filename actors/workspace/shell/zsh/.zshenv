# Found by zsh through ZDOTDIR, which is put back at once: everything read after this is the person's own. The hooks set
# here write marks around each command for whoever drew this terminal (OSC 633: A prompt, E line, C start, D end,
# P folder). Every mark ends in a nonce that programs do not have.
if [[ -n ${AHPD_ZDOTDIR-} ]]; then
  export ZDOTDIR=$AHPD_ZDOTDIR
else
  unset ZDOTDIR
fi
typeset -g +x __ahpd_nonce=$AHPD_NONCE
unset AHPD_NONCE AHPD_ZDOTDIR

if [[ -o interactive ]]; then
  # Sets REPLY to the text as it may stand in a mark; longer ones are cut.
  __ahpd_quote() {
    emulate -L zsh
    REPLY=${1[1,8192]}
    REPLY=${REPLY//\\/\\\\}
    REPLY=${REPLY//;/\\x3b}
    REPLY=${REPLY//$'\n'/\\x0a}
    REPLY=${REPLY//$'\r'/\\x0d}
    REPLY=${REPLY//$'\e'/\\x1b}
    REPLY=${REPLY//$'\a'/\\x07}
  }

  __ahpd_started() {
    emulate -L zsh
    local REPLY
    __ahpd_quote "${1:-$3}"
    builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$REPLY" "$__ahpd_nonce" "$__ahpd_nonce"
  }

  __ahpd_prompt() {
    local code=$?
    emulate -L zsh
    local REPLY
    __ahpd_quote "$PWD"
    builtin printf '\e]633;D;%s;%s\a\e]633;P;Cwd=%s;%s\a\e]633;A;%s\a' \
      "$code" "$__ahpd_nonce" "$REPLY" "$__ahpd_nonce" "$__ahpd_nonce"
  }

  precmd_functions=(__ahpd_prompt $precmd_functions)
  preexec_functions=(__ahpd_started $preexec_functions)
fi

[[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && source "${ZDOTDIR:-$HOME}/.zshenv"
