import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Item } from '../client/index.ts';
import { type Acting, wholeNumber } from './acting.ts';
import type { Session } from './session.ts';

type Entry = Item<'listAuditLogs'>;

const POLL_MS = 2_000;
/** Limit of entries of one poll; more since the last one are left out, and the output says so. */
const MOST = 500;

export function auditCommands(program: Command, acting: Acting): void {
  const audit = program.command('audit').description('shows the audit trail');
  audit
    .command('tail', { isDefault: true })
    .description('shows the latest entries, the latest last')
    .option('--limit <n>', 'so many', wholeNumber, 20)
    .option('--follow', 'goes on with those that are added')
    .action(acting(tail));
}

async function tail(session: Session, { limit, follow }: { limit: number; follow?: boolean }): Promise<void> {
  const latest = (await session.list(limit, 'listAuditLogs', { path: session.path })).reverse();
  for (const entry of latest) say(session, entry);
  if (!follow) return;
  let known = new Set(latest.map(({ auditLogID }) => auditLogID));
  for (;;) {
    await sleep(POLL_MS);
    const entries = await session.list(MOST, 'listAuditLogs', { path: session.path });
    const added = entries.filter(({ auditLogID }) => !known.has(auditLogID)).reverse();
    if (added.length === MOST) session.note(`More than ${MOST} entries in ${POLL_MS / 1_000} s: some are left out`);
    for (const entry of added) say(session, entry);
    known = new Set(entries.map(({ auditLogID }) => auditLogID));
  }
}

/** A line each, also as JSON, since the list has no end. */
function say(session: Session, entry: Entry): void {
  if (session.isJSON) return session.line(JSON.stringify(entry));
  const { createdAt, outcome, type, subType, path, asset, userID, apiKeyID } = entry;
  const what = path ?? (asset ? `${asset.type}:${asset.id}` : '');
  const by = apiKeyID ? `key ${apiKeyID}` : userID ? `user ${userID}` : '';
  session.line(`${createdAt} ${outcome.padEnd(7)} ${type} ${subType} ${what} ${by}`.trimEnd());
}
