import type { Logger } from '#shared/logger.ts';
import type { Question, ReadResult } from './protocol.ts';
import { ReaderProcess } from './reader-process.ts';

export interface ReaderRequest {
  tenantID: string;
  question: Question;
  signal: AbortSignal;
}

/** The processes that read files: few, none ever of two tenants, kept for a moment for whoever asks next. */
export interface Readers extends AsyncDisposable {
  ask(request: ReaderRequest): Promise<ReadResult>;
}

interface Seat {
  tenantID: string;
  process: ReaderProcess;
  /** What it was asked last: a database in memory is still there for the next question of its kind. */
  about: string;
  isBusy: boolean;
  idleSince: number;
}

interface Limits {
  atOnce: number;
  perTenant: number;
  idleMs: number;
}

export function createReaders(
  folder: string,
  logger: Logger,
  { atOnce, perTenant, idleMs }: Limits = { atOnce: 4, perTenant: 2, idleMs: 30_000 },
): Readers {
  const seats = new Set<Seat>();
  const waiting = new Set<{ tenantID: string; wake: () => void }>();
  const timer = setInterval(sweep, Math.min(idleMs, 5_000)).unref();

  function sweep(): void {
    const before = performance.now() - idleMs;
    for (const seat of seats) if (!seat.isBusy && seat.idleSince < before) dismiss(seat);
  }

  function dismiss(seat: Seat): void {
    seats.delete(seat);
    seat.process.kill();
  }

  function hasPlace(tenantID: string): boolean {
    const busy = [...seats].filter(({ isBusy }) => isBusy);
    return busy.length < atOnce && busy.filter((seat) => seat.tenantID === tenantID).length < perTenant;
  }

  async function take({ tenantID, question, signal }: ReaderRequest): Promise<Seat> {
    while (!hasPlace(tenantID)) await nextPlace(tenantID, signal);
    const about = aboutOf(question);
    const idle = [...seats].filter(({ isBusy, process }) => !isBusy && process.isUsable);
    const own = idle.filter((seat) => seat.tenantID === tenantID);
    const kept = own.find((seat) => seat.about === about) ?? own[0];
    const seat = kept ?? open(tenantID);
    return Object.assign(seat, { about, isBusy: true });
  }

  function open(tenantID: string): Seat {
    for (const seat of seats) if (!seat.isBusy && seats.size >= atOnce) dismiss(seat);
    const seat = { tenantID, process: new ReaderProcess(folder, logger), about: '', isBusy: true, idleSince: 0 };
    seats.add(seat);
    return seat;
  }

  async function nextPlace(tenantID: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { tenantID, wake: resolve };
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    waiting.add(entry);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      waiting.delete(entry);
    }
  }

  function give(seat: Seat): void {
    Object.assign(seat, { isBusy: false, idleSince: performance.now() });
    if (!seat.process.isUsable) seats.delete(seat);
    // Each looks for itself whether there is a place, in the order in which they came.
    for (const { wake } of [...waiting]) wake();
  }

  return {
    async ask(request) {
      const seat = await take(request);
      try {
        return await seat.process.ask(request.question, request.signal);
      } finally {
        give(seat);
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      for (const seat of [...seats]) dismiss(seat);
    },
  };
}

function aboutOf(question: Question): string {
  if ('file' in question) return question.file.path;
  return question.files.map(({ path }) => path).join();
}
