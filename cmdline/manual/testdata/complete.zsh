# complete.zsh FILE LINE...: what an interactive zsh that sourced FILE offers for each line.
# After Valodim's zsh-capture-completion: compadd says what it would have offered.
zmodload zsh/zpty || exit 2
zpty z zsh -f -i
say() { zpty -w z "$1" }
cat > setup.zsh <<'S'
PROMPT=
unset zle_bracketed_paste; unsetopt beep
autoload -Uz compinit
compinit -u -D
source ./$FILE
bindkey '^I' complete-word
hits_begin() { compprefuncs=(hits_begin) comppostfuncs=(hits_end); print -r -- 'hits-begin' }
hits_end() { print -r -- 'hits-end' }
compprefuncs=(hits_begin)
comppostfuncs=(hits_end)
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return $?
  fi
  local -a hits
  builtin compadd -A hits "$@"
  local h
  for h in $hits; do print -r -- "hit:$h"; done
  return 1
}
print ready
S
say "FILE=$1; source ./setup.zsh"
shift
local text=
until [[ $text == *ready* ]]; do zpty -r z text '*ready*' || exit 3; done
for line; do
  zpty -n -w z "$line"$'\t'
  zpty -r z text '*hits-begin*hits-end*' || exit 4
  print -r -- "@@"
  print -r -- "${text##*hits-begin}"
  zpty -n -w z $'\x15'
done
zpty -d z
