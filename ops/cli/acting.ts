import { type Command, InvalidArgumentError } from 'commander';
import { openSession, type Session, type World } from './session.ts';

export type Acting = <A extends unknown[]>(
  run: (session: Session, ...given: A) => Promise<void>,
) => (...given: [...A, Command]) => Promise<void>;

/** Makes the action of a command: commander gives it arguments, options, and the command itself. */
export function actingIn(world: World): Acting {
  return (run) =>
    async (...given) => {
      // The type of the action says that the command is the last one.
      const command = given.at(-1) as Command;
      await run(await openSession(world, command), ...(given.slice(0, -1) as never));
    };
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError(`expected a whole number above 0, received ${JSON.stringify(text)}`);
}

/** For options that may be given several times. */
export function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}
