import type { Command } from 'commander';
import { type Acting, wholeNumber } from './acting.ts';
import { findByTitle, type Session } from './session.ts';

export function cronCommands(program: Command, acting: Acting): void {
  const cron = program.command('cron').description('lists, pauses, resumes and runs cron jobs');
  cron
    .command('list', { isDefault: true })
    .description('lists cron jobs')
    .option('--limit <n>', 'at most so many', wholeNumber, 100)
    .action(acting(listJobs));
  cron
    .command('pause <job>')
    .description('stops its ticks')
    .action(acting(changing('pauseCronJob')));
  cron
    .command('resume <job>')
    .description('lets it tick again')
    .action(acting(changing('resumeCronJob')));
  cron
    .command('run <job>')
    .description('runs it now')
    .action(acting(changing('runCronJob')));
}

async function listJobs(session: Session, { limit }: { limit: number }): Promise<void> {
  session.showRows(await session.list(limit, 'listCronJobs', { path: session.path }), [
    ['job', ({ cronJobID }) => cronJobID],
    ['title', ({ cronJobTitle }) => cronJobTitle],
    ['schedule', ({ cronJobSchedule }) => cronJobSchedule],
    ['timezone', ({ timezone }) => timezone],
    ['state', ({ state }) => state],
    ['next', ({ nextRunAt }) => nextRunAt],
    ['type', ({ cronJobType }) => cronJobType],
  ]);
}

function changing(operation: 'pauseCronJob' | 'resumeCronJob' | 'runCronJob') {
  return async (session: Session, word: string): Promise<void> => {
    const cronJobID = await jobNamed(session, word);
    const answer = await session.gantry.call(operation, { path: { ...session.path, cronJobID } });
    session.show(answer, ({ message }) => message);
  };
}

function jobNamed({ gantry, path }: Session, word: string): Promise<string> {
  return findByTitle(word, {
    kind: 'cron job',
    find: async (search) => {
      const { cronJobs } = await gantry.call('listCronJobs', { path, query: { search, limit: 100 } });
      return cronJobs.map(({ cronJobID, cronJobTitle }) => ({ id: cronJobID, title: cronJobTitle }));
    },
  });
}
