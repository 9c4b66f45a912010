import type { Command } from 'commander';
import { type Acting, wholeNumber } from './acting.ts';
import { findByTitle, type Session } from './session.ts';

export function deadLetterCommands(program: Command, acting: Acting): void {
  const letters = program
    .command('dead-letters')
    .description('lists events that could not be processed, and tries them again');
  letters
    .command('list <listener>')
    .description('lists the dead letters of a listener, named by its id or its title')
    .option('--limit <n>', 'at most so many', wholeNumber, 50)
    .action(acting(listLetters));
  letters
    .command('redrive <listener> [event]')
    .description('processes an event again, or all dead letters')
    .option('--error-code <code>', 'of all, those with this error')
    .option('--per-second <n>', 'of all, so many in a second', wholeNumber)
    .addHelpText(
      'after',
      '\nExample:\n  gantry dead-letters redrive Orders --error-code UPSTREAM_FAILED --per-second 10',
    )
    .action(acting(redrive));
}

async function listLetters(session: Session, word: string, { limit }: { limit: number }): Promise<void> {
  const path = { ...session.path, listenerID: await listenerNamed(session, word) };
  const events = await session.list(limit, 'listListenerEvents', { path, query: { state: 'dead' } });
  session.showRows(events, [
    ['event', ({ eventID }) => eventID],
    ['received', ({ receivedAt }) => receivedAt],
    ['attempts', ({ attempts }) => attempts],
    ['error', ({ error }) => error && `${error.code}: ${error.message}`],
  ]);
}

async function redrive(
  session: Session,
  word: string,
  eventID: string | undefined,
  { errorCode, perSecond }: { errorCode?: string; perSecond?: number },
): Promise<void> {
  const { gantry } = session;
  const path = { ...session.path, listenerID: await listenerNamed(session, word) };
  const answer = eventID
    ? await gantry.call('redriveListenerEvent', { path: { ...path, eventID }, body: {} })
    : await gantry.call('redriveListenerEvents', {
        path,
        body: { filter: { ...(errorCode && { errorCode }) }, ...(perSecond && { perSecond }) },
      });
  session.show(answer, ({ message }) => message);
}

function listenerNamed({ gantry, path }: Session, word: string): Promise<string> {
  return findByTitle(word, {
    kind: 'listener',
    find: async (search) => {
      const { listeners } = await gantry.call('listListeners', { path, query: { search, limit: 100 } });
      return listeners.map(({ listenerID, listenerTitle }) => ({ id: listenerID, title: listenerTitle }));
    },
  });
}
