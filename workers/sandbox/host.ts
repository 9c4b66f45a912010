/**
 * The child process that runs user code. It has nothing to protect: no environment, no files but its own sources, no network,
 * no lease. The pool may kill it at any moment.
 */
import { getPriority, setPriority } from 'node:os';
import { createIsolates, type TenantIsolate } from './isolates.ts';
import type { CallOutcome, HostReply, HostRequest, Job, PrintedText } from './protocol.ts';

interface Running {
  isolate: TenantIsolate;
  memoryMB: number;
  deadline: number;
  /** Why the host disposed of the isolate, if the host did. */
  stopped?: 'timeout' | 'cancelled';
  disposedAt?: number;
}

const running = new Map<number, Running>();
const isolates = createIsolates((isolate) => {
  for (const [id, call] of running) {
    if (call.isolate === isolate) sendReply({ kind: 'unsound', id, outcome: { kind: 'memory' } });
  }
});

/** A thread that still runs this long after its isolate was disposed of will not end: it is inside a built-in. */
const disposalMs = 250;
const guardMs = 25;
const maxRestBytes = 768 * 1024 * 1024;
let guard: NodeJS.Timeout | undefined;
let restBytes = process.memoryUsage.rss();
let restMeasuredAt = 0;

// A lower priority than the engine's: endless loops must not take the time in which leases are renewed.
setPriority(Math.max(getPriority(), 5));
process.on('message', (request: HostRequest) => {
  if (request.kind === 'run') void run(request);
  else stop(request.id, 'cancelled');
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
sendReply({ kind: 'ready' });

async function run(job: Job): Promise<void> {
  const deadline = performance.now() + job.timeoutMs;
  const isolate = isolates.take(job);
  const call: Running = { isolate, memoryMB: job.memoryMB, deadline };
  running.set(job.id, call);
  guard ??= setInterval(checkRunning, guardMs);

  let outcome: CallOutcome;
  let printed: PrintedText | undefined;
  const onPrinted = (text: PrintedText) => {
    printed = text;
  };
  try {
    outcome = await isolate.run(job, () => Math.max(1, Math.ceil(deadline - performance.now())), onPrinted);
  } catch (error) {
    outcome = explain(error, call);
    isolate.dispose();
  }
  running.delete(job.id);
  sendReply({ kind: 'done', id: job.id, outcome, printed });
  if (outcome.kind === 'pending') isolate.dispose();
  else isolates.give(isolate);
  if (running.size === 0) measureAtRest();
}

function explain(error: unknown, { isolate, stopped }: Running): CallOutcome {
  if (stopped) return { kind: 'timeout' };
  // The host has not disposed of the isolate, so isolated-vm has, because of its memory limit.
  if (isolate.isDisposed) return { kind: 'memory' };
  const message = error instanceof Error ? error.message : String(error);
  return message === 'Script execution timed out.'
    ? { kind: 'timeout' }
    : { kind: 'lost', message: message.slice(0, 500) };
}

function stop(id: number, why: 'timeout' | 'cancelled'): void {
  const call = running.get(id);
  if (!call || call.stopped) return;
  call.stopped = why;
  call.isolate.dispose();
}

/** Measures the memory of the idle process, from which the guard counts. */
function measureAtRest(): void {
  const now = performance.now();
  if (now < restMeasuredAt + 1000) return;
  restMeasuredAt = now;
  restBytes = process.memoryUsage.rss();
  if (restBytes > maxRestBytes) sendReply({ kind: 'unsound', id: null, outcome: { kind: 'memory' } });
}

/** Checks what isolated-vm does not: code that it cannot interrupt, and memory that its limit does not count. */
function checkRunning(): void {
  if (running.size === 0) {
    clearInterval(guard);
    guard = undefined;
    return;
  }
  const now = performance.now();
  // The process may take 256 MB more than at rest, and twice the memory limit of each running call, since the limits of isolates are soft.
  let allowedBytes = restBytes + 256 * 1024 * 1024 + isolates.idleBytes();
  for (const [id, call] of running) {
    allowedBytes += 2 * call.memoryMB * 1024 * 1024;
    // isolated-vm ends code at the deadline, if it can; only after that the guard does.
    if (now > call.deadline + 4 * guardMs) stop(id, 'timeout');
    if (!call.isolate.isDisposed) continue;
    call.disposedAt ??= now;
    if (now < call.disposedAt + disposalMs) continue;
    sendReply({ kind: 'unsound', id, outcome: { kind: call.stopped ? 'timeout' : 'memory' } });
  }
  if (process.memoryUsage.rss() <= allowedBytes) return;
  const [only] = running.keys();
  sendReply({
    kind: 'unsound',
    id: running.size === 1 && only !== undefined ? only : null,
    outcome: { kind: 'memory' },
  });
}

function sendReply(reply: HostReply): void {
  process.send?.(reply);
}
