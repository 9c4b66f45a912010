import { setTimeout as sleep } from 'node:timers/promises';
import type { Input, Item } from '../client/index.ts';
import { textOf } from './output.ts';
import type { Session } from './session.ts';

type Line = Item<'getWorkflowInstanceLogs'>;

const POLL_MS = 1_000;
const ENDED: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED'];

interface LogOptions {
  level?: string;
  node?: string;
  follow?: boolean;
}

export async function showLogs(session: Session, instanceID: string, { level, node, follow }: LogOptions) {
  const query = { ...(level && { level }), ...(node && { nodeID: node }) };
  const input = { path: { ...session.path, instanceID }, query } as Input<'getWorkflowInstanceLogs'>;
  if (follow) return followLogs(session, input);
  const lines = await session.list(Number.POSITIVE_INFINITY, 'getWorkflowInstanceLogs', input);
  if (session.isJSON) return session.line(JSON.stringify(lines, null, 2));
  for (const line of lines) session.line(textOfLine(line));
}

/** A line each, also as JSON, since the list may go on. The last page is read again until there is another one. */
async function followLogs({ gantry, ...session }: Session, { path, query }: Input<'getWorkflowInstanceLogs'>) {
  let cursor: string | undefined;
  let shown = 0;
  for (let isEnded = false; ; ) {
    const page = await gantry.call('getWorkflowInstanceLogs', { path, query: { ...query, ...(cursor && { cursor }) } });
    for (const line of page.lines.slice(shown)) session.line(session.isJSON ? JSON.stringify(line) : textOfLine(line));
    shown = page.lines.length;
    if (page.nextCursor) {
      cursor = page.nextCursor;
      shown = 0;
      continue;
    }
    if (isEnded) return;
    // Log lines of a run are there when its end is.
    const { status } = await gantry.call('getWorkflowInstance', { path, query: { input: 'false' } });
    isEnded = ENDED.includes(status);
    if (!isEnded) await sleep(POLL_MS);
  }
}

function textOfLine({ at, level, nodeID, message, data }: Line): string {
  return `${at} ${level.padEnd(5)} ${nodeID ?? '–'}: ${message}${data === undefined ? '' : ` ${textOf(data)}`}`;
}
