# Given to bash as its --init-file: the person's own ~/.bashrc, and then marks around each command for whoever drew this
# terminal (OSC 633: A prompt, E line, C start, D end, P folder). Every mark ends in a nonce that programs do not have.
__ahpd_nonce=$AHPD_NONCE
unset AHPD_NONCE
[[ -r ~/.bashrc ]] && . ~/.bashrc

# PS0 came with 4.4; before it nothing runs between a line and its commands.
((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) && shopt -q promptvars || return 0

# Sets __ahpd_quoted to the text as it may stand in a mark; longer ones are cut.
__ahpd_quote() {
  local text=${1:0:8192}
  text=${text//\\/\\\\}
  text=${text//;/\\x3b}
  text=${text//$'\n'/\\x0a}
  text=${text//$'\r'/\\x0d}
  text=${text//$'\e'/\\x1b}
  text=${text//$'\a'/\\x07}
  __ahpd_quoted=$text
}

# Sets __ahpd_number and __ahpd_line to the newest entry of the history.
__ahpd_newest() {
  local entry pattern='^ *([0-9]+)[* ] (.*)$'
  entry=$(HISTTIMEFORMAT='' builtin history 1)
  if [[ $entry =~ $pattern ]]; then
    __ahpd_number=${BASH_REMATCH[1]} __ahpd_line=${BASH_REMATCH[2]}
  else
    __ahpd_number='' __ahpd_line=''
  fi
}

# Runs in a subshell, before the line does. A line that the history was told not to keep stays unknown.
__ahpd_started() {
  local number=$__ahpd_number line=$__ahpd_line
  __ahpd_newest
  if [[ $__ahpd_number == "$number" && $__ahpd_line == "$line" ]]; then
    # Nothing came to the history, unless a repeated line took its own place in it.
    if [[ ${HISTCONTROL-} != *erasedups* || ${HISTCONTROL-} == *ignorespace* || -n ${HISTIGNORE-} ]]; then
      __ahpd_line=''
    fi
  fi
  __ahpd_quote "$__ahpd_line"
  builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$__ahpd_quoted" "$__ahpd_nonce" "$__ahpd_nonce"
}

__ahpd_prompt() {
  local code=$? number=$__ahpd_number line=$__ahpd_line
  __ahpd_newest
  if [[ -n $__ahpd_dedupe && $__ahpd_number != "$number" && $__ahpd_line == "$line" ]]; then
    builtin history -d "$__ahpd_number" && __ahpd_number=$number
  fi
  __ahpd_quote "$PWD"
  builtin printf '\e]633;D;%s;%s\a\e]633;P;Cwd=%s;%s\a\e]633;A;%s\a' \
    "$code" "$__ahpd_nonce" "$__ahpd_quoted" "$__ahpd_nonce" "$__ahpd_nonce"
  return "$code"
}

# The line is read from the history, so a repeated one must get there; `ignoredups` is done by the prompt instead.
__ahpd_dedupe=''
case :${HISTCONTROL-}: in
  *:ignoreboth:* | *:ignoredups:*) __ahpd_dedupe=1 ;;
esac
HISTCONTROL=${HISTCONTROL-}
HISTCONTROL=${HISTCONTROL//ignoreboth/ignorespace}
HISTCONTROL=${HISTCONTROL//ignoredups/}

__ahpd_number='' __ahpd_line=''
if ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
  PROMPT_COMMAND=(__ahpd_prompt "${PROMPT_COMMAND[@]}")
else
  PROMPT_COMMAND="__ahpd_prompt${PROMPT_COMMAND:+; $PROMPT_COMMAND}"
fi
PS0='$(__ahpd_started)'"${PS0-}"
