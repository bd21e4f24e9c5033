# Marks what the shell does for whoever drew this terminal: prompt, command line, start, end, folder (OSC 633).
[ -r ~/.bashrc ] && . ~/.bashrc
__ahpd_nonce=$AHPD_NONCE
unset AHPD_NONCE
__ahpd_escape() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//;/\\x3b}
  text=${text//$'\n'/\\x0a}
  text=${text//$'\r'/\\x0d}
  text=${text//$'\e'/\\x1b}
  text=${text//$'\a'/\\x07}
  printf '%s' "$text"
}
__ahpd_started() {
  local line
  line=$(HISTTIMEFORMAT='' builtin history 1)
  [[ $line =~ ^\ *[0-9]+\*?\ +(.*)$ ]] && line=${BASH_REMATCH[1]} || line=
  printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$(__ahpd_escape "$line")" "$__ahpd_nonce" "$__ahpd_nonce"
}
__ahpd_ended() {
  local code=$?
  printf '\e]633;D;%s;%s\a\e]633;P;Cwd=%s;%s\a' "$code" "$__ahpd_nonce" "$(__ahpd_escape "$PWD")" "$__ahpd_nonce"
  return "$code"
}
if [ -n "${PROMPT_COMMAND[*]}" ]; then
  PROMPT_COMMAND=(__ahpd_ended "${PROMPT_COMMAND[@]}")
else
  PROMPT_COMMAND=__ahpd_ended
fi
PS0='$(__ahpd_started)'"$PS0"
HISTCONTROL=${HISTCONTROL//ignorespace/}
HISTCONTROL=${HISTCONTROL//ignoreboth/ignoredups}
set -o history
printf '\e]633;A;%s\a' "$__ahpd_nonce"
