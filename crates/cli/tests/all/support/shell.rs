//! Commands as guides show them: `$ ` before each, and below it what they write.

/// A command of a shell.
#[derive(Debug)]
pub(crate) struct Command {
    /// How many lines it stands below the beginning of the text.
    pub(crate) line: usize,
    /// Its programs with their arguments: those of a pipe, or of `;` and `&&`, one after the other.
    pub(crate) programs: Vec<Vec<String>>,
    /// What stands below it.
    pub(crate) output: String,
}

/// The commands of a text.
pub(crate) fn commands(text: &str) -> Result<Vec<Command>, String> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((line, first)) = lines.next() {
        let Some(first) = first.strip_prefix("$ ") else {
            match commands.last_mut() {
                Some(command) => command.output.push_str(&format!("{first}\n")),
                None => return Err(format!("`{first}` is no command: write `$ ` before it")),
            }
            continue;
        };
        let mut whole = first.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push_str(lines.next().map(|(_, next)| next.trim_start()).unwrap_or_default());
        }
        commands.push(Command { line, programs: programs(&whole), output: String::new() });
    }
    if commands.is_empty() { Err("there is no command, `$ …`".to_owned()) } else { Ok(commands) }
}

/// The programs of a line, without comments, assignments and redirections.
fn programs(line: &str) -> Vec<Vec<String>> {
    let mut programs = vec![Vec::new()];
    let mut is_redirected = false;
    for word in words(line) {
        match word {
            Word::Operator('<' | '>') => is_redirected = true,
            Word::Operator(_) => programs.push(Vec::new()),
            Word::Text(_) if is_redirected => is_redirected = false,
            Word::Text(text) => {
                let program = programs.last_mut().unwrap();
                let is_assignment = text.split_once('=').is_some_and(|(name, _)| {
                    !name.is_empty() && name.chars().all(|character| character.is_ascii_uppercase() || character == '_')
                });
                if !(program.is_empty() && is_assignment) {
                    program.push(text);
                }
            }
        }
    }
    programs.retain(|program| !program.is_empty());
    programs
}

enum Word {
    Text(String),
    Operator(char),
}

fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => return words,
            (None, ' ' | '|' | ';' | '&' | '<' | '>') => {
                words.extend(word.take().map(Word::Text));
                if character != ' ' {
                    words.push(Word::Operator(character));
                }
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word.map(Word::Text));
    words
}
