/**
 * The child process that reads files of one tenant, one request at a time. Parsers and native code process untrusted bytes
 * here: it has no environment, no network and no secrets, and may be killed at any moment.
 */
import { getPriority, setPriority } from 'node:os';
import { InvalidField, ReadFailure, type ReadRequest, type Reply, type SendRequest } from '../protocol.ts';

// A lower priority than the engine's: a heavy query must not take the time in which leases are renewed.
setPriority(Math.max(getPriority(), 5));
process.on('message', (request: ReadRequest | SendRequest) => {
  if (request.kind === 'send') sendResult();
  else void answerRequest(request);
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

let result = '';

async function answerRequest(request: ReadRequest): Promise<void> {
  try {
    result = await read(request);
    sendReply({ kind: 'ready', length: result.length });
  } catch (error) {
    sendReply(failureOf(error));
  }
}

function sendResult(): void {
  sendReply({ kind: 'result', json: result });
  result = '';
}

/** Loads a driver with the first request that needs it. */
async function read(request: ReadRequest): Promise<string> {
  if (request.kind === 'sheet') return (await import('./read-sheet.ts')).readSheet(request);
  if (request.kind === 'sheetNames') return (await import('./read-sheet.ts')).readSheetNames(request);
  if (request.kind === 'sqlite') return (await import('./read-sqlite.ts')).readSqlite(request);
  return (await import('./read-duckdb.ts')).readDuckdb(request);
}

function failureOf(error: unknown): Reply {
  if (error instanceof InvalidField) return { kind: 'invalid', field: error.field, message: error.message };
  if (error instanceof ReadFailure) return { kind: 'failed', message: error.message, details: error.details };
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  return { kind: 'failed', message: 'The file could not be read', details: null };
}

function sendReply(message: Reply): void {
  process.send?.(message);
}
