# Read by fish after the person's own configuration: marks around each command for whoever drew this terminal (OSC 633:
# A prompt, E line, C start, D end, P folder). Every mark ends in a nonce that programs do not have.
set -g __ahpd_nonce $AHPD_NONCE
set -e AHPD_NONCE

# The text as it may stand in a mark; longer ones are cut.
function __ahpd_quote
    string sub --length 8192 -- $argv[1] | string replace --all '\\' '\\\\' | string replace --all ';' '\\x3b' |
        string replace --all \r '\\x0d' | string replace --all \e '\\x1b' | string replace --all \a '\\x07' |
        string join '\\x0a'
end

function __ahpd_started --on-event fish_preexec
    set -l line (__ahpd_quote "$argv[1]")
    builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$line" $__ahpd_nonce $__ahpd_nonce
end

function __ahpd_ended --on-event fish_postexec
    builtin printf '\e]633;D;%s;%s\a' $status $__ahpd_nonce
end

function __ahpd_prompt --on-event fish_prompt
    set -l folder (__ahpd_quote "$PWD")
    builtin printf '\e]633;P;Cwd=%s;%s\a\e]633;A;%s\a' "$folder" $__ahpd_nonce $__ahpd_nonce
end
