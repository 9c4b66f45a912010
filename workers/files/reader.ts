/**
 * The child process that reads files of one tenant, one question at a time. Parsers and native code meet bytes of strangers
 * here: it has no environment, no network and no secrets, and may be killed at any moment.
 */
import { getPriority, setPriority } from 'node:os';
import type { Json } from '#shared/json.ts';
import { type Question, ReadFailure, type Reply } from './protocol.ts';

// Behind the engine: a heavy query may have what time is left, not the time in which leases are renewed.
setPriority(Math.max(getPriority(), 5));
process.on('message', (question: Question) => void reply(question));
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

async function reply(question: Question): Promise<void> {
  try {
    answer({ kind: 'result', json: await read(question) });
  } catch (error) {
    answer(failureOf(error));
  }
}

/** Drivers are loaded by the first question that needs them. */
async function read(question: Question): Promise<string> {
  if (question.kind === 'sheet') return (await import('./read-sheet.ts')).readSheet(question);
  if (question.kind === 'sheetNames') return (await import('./read-sheet.ts')).readSheetNames(question);
  if (question.kind === 'sqlite') return (await import('./read-sqlite.ts')).readSqlite(question);
  return (await import('./read-duckdb.ts')).readDuckdb(question);
}

function failureOf(error: unknown): Reply {
  if (error instanceof ReadFailure)
    return { kind: 'failed', code: error.code, message: error.message, details: error.details };
  const details: Json = null;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  return { kind: 'failed', code: 'DB_ERROR', message: 'The file could not be read', details };
}

function answer(message: Reply): void {
  process.send?.(message);
}
