import { createLane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import type { ReadRequest, ReadResult } from './protocol.ts';
import { ReaderProcess } from './reader-process.ts';

export interface ReadTask {
  tenantID: string;
  request: ReadRequest;
  signal: AbortSignal;
}

/** The processes that read files: few, none ever of two tenants, kept for a moment for whoever asks next. */
export interface Readers extends AsyncDisposable {
  read(request: ReadTask): Promise<ReadResult>;
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
  maxAtOnce: number;
  maxPerTenant: number;
  idleMs: number;
}

export function createReaders(
  folder: string,
  logger: Logger,
  { maxAtOnce, maxPerTenant, idleMs }: Limits = { maxAtOnce: 4, maxPerTenant: 2, idleMs: 30_000 },
): Readers {
  const seats = new Set<Seat>();
  const lane = createLane({ places: maxAtOnce, maxPerTenant });
  const timer = setInterval(sweep, Math.min(idleMs, 5_000)).unref();

  function sweep(): void {
    const before = performance.now() - idleMs;
    for (const seat of seats) if (!seat.isBusy && seat.idleSince < before) dismiss(seat);
  }

  function dismiss(seat: Seat): void {
    seats.delete(seat);
    seat.process.kill();
  }

  /** The process of the tenant that has read the same files before, else an idle one of the tenant, else a new one. */
  function seatFor({ tenantID, request }: ReadTask): Seat {
    const about = aboutOf(request);
    const idle = [...seats].filter(({ isBusy, process }) => !isBusy && process.isUsable);
    const own = idle.filter((seat) => seat.tenantID === tenantID);
    const kept = own.find((seat) => seat.about === about) ?? own[0];
    const seat = kept ?? open(tenantID);
    return Object.assign(seat, { about, isBusy: true });
  }

  function open(tenantID: string): Seat {
    for (const seat of seats) if (!seat.isBusy && seats.size >= maxAtOnce) dismiss(seat);
    const seat = { tenantID, process: new ReaderProcess(folder, logger), about: '', isBusy: true, idleSince: 0 };
    seats.add(seat);
    return seat;
  }

  function release(seat: Seat): void {
    Object.assign(seat, { isBusy: false, idleSince: performance.now() });
    if (!seat.process.isUsable) seats.delete(seat);
  }

  return {
    async read(task) {
      const { tenantID, request, signal } = task;
      const leave = await lane.enter({ tenantID }, signal);
      if (!leave) throw signal.reason;
      const seat = seatFor(task);
      try {
        return await seat.process.read(request, signal);
      } finally {
        release(seat);
        leave();
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      for (const seat of [...seats]) dismiss(seat);
    },
  };
}

function aboutOf(request: ReadRequest): string {
  if ('file' in request) return request.file.path;
  return request.files.map(({ path }) => path).join();
}
