import type { Command } from 'commander';
import { UsageError } from './exit.ts';
import type { World } from './session.ts';

const scripts: Record<string, string> = {
  bash: `complete -o default -C 'gantry complete-words' gantry`,
  zsh: `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -u }\nautoload -U +X bashcompinit && bashcompinit\ncomplete -o default -C 'gantry complete-words' gantry`,
  fish: `complete -c gantry -a '(COMP_LINE=(commandline -cp) gantry complete-words)'`,
};

/** The shell asks the command itself, so a script that is installed stays right. */
export function completionCommands(program: Command, world: World): void {
  program
    .command('completion <shell>')
    .description('prints what bash, zsh or fish completes commands with')
    .addHelpText('after', '\nExample:\n  echo \'eval "$(gantry completion bash)"\' >> ~/.bashrc')
    .action((shell: string) => {
      const script = scripts[shell];
      if (!script) throw new UsageError(`Expected bash, zsh or fish, received ${JSON.stringify(shell)}`);
      world.line(script);
    });
  program
    .command('complete-words', { hidden: true })
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      for (const word of wordsAfter(program, world.env.COMP_LINE ?? '')) world.line(word);
    });
}

/** Commands and options that may come next in the line. */
export function wordsAfter(program: Command, line: string): string[] {
  const words = line.trimStart().split(/\s+/).slice(1);
  const begun = words.pop() ?? '';
  let command = program;
  for (const word of words) command = command.commands.find((candidate) => candidate.name() === word) ?? command;
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((candidate) => candidate.name());
  const options = [...command.options, ...program.options].flatMap(({ long }) => long ?? []);
  return (begun.startsWith('-') ? options : names).filter((word) => word.startsWith(begun));
}
