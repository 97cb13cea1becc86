//! The scripts of the shells: those of `clap_complete`, but for two.

use clap::Command;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

/// The shells that can ask.
pub(super) const ALL: Shells<'static> = Shells(&[
    &Own { shell: &Bash, script: whole_words },
    &Elvish,
    &Fish,
    &Powershell,
    &Own { shell: &Zsh, script: autoloaded },
]);

const SCRIPT: &str = r#"_FUNCTION() {
    local word before= glued= n=-1 i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((n >= 0)) && [[ $glued || $word == [=:]* ]]; then
            before=${words[n]}
        else
            before=
            n=$((n + 1))
        fi
        glued=
        if [[ $word == [=:]* ]]; then
            glued=yes
            words[n]=$before$word
            before=${words[n]}
        else
            ((i == COMP_CWORD)) && word=$2
            words[n]=$before$word
        fi
    done
    local IFS=$'\013'
    COMPREPLY=($(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$n" VARIABLE=bash \
        "$1" -- "${words[@]}" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    # Bash replaces only what stands behind the last of them.
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o bashdefault -o nosort -F _FUNCTION PROGRAM 2>/dev/null ||
    complete -o bashdefault -F _FUNCTION PROGRAM
"#;

/// A script of ours, by which a shell asks as it does by that of `clap_complete`.
struct Own {
    shell: &'static dyn EnvCompleter,
    /// Writes the script: the variable, the names of the program and of its file, and the command.
    script: fn([&str; 4], &mut dyn Write) -> Result<(), Error>,
}

/// Bash splits words at `=` and `:`. This puts them together, so that RULE=VALUE is one, and asks
/// the program that is called, wherever it is.
fn whole_words([variable, name, file, _]: [&str; 4], out: &mut dyn Write) -> Result<(), Error> {
    let script = SCRIPT.replace("FUNCTION", &format!("{}_complete", name.replace('-', "_")));
    out.write_all(script.replace("VARIABLE", variable).replace("PROGRAM", file).as_bytes())
}

/// Zsh runs a file of its folders when it is first asked to complete: then too there are answers.
fn autoloaded([variable, name, file, called]: [&str; 4], out: &mut dyn Write) -> Result<(), Error> {
    Zsh.write_registration(variable, name, file, called, out)?;
    let function = format!("_clap_dynamic_completer_{}", name.replace('-', "_"));
    writeln!(out, "[[ $funcstack[1] == _{file} ]] && {function} \"$@\"\ntrue")
}

impl EnvCompleter for Own {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        (self.script)([var, name, bin, completer], out)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        self.shell.write_complete(command, words, folder, out)
    }
}
