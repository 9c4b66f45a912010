import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { flowOf } from '#shared/concurrency/work-context.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { ReadRequest, ReadResult } from './protocol.ts';
import { ReaderProcess } from './reader-process.ts';

export interface ReadTask {
  tenantID: string;
  request: ReadRequest;
  signal: AbortSignal;
}

/** The processes that read files: few, each for one tenant only, and reused by the tenant's next request within an idle time. */
export interface Readers extends AsyncDisposable {
  read(request: ReadTask): Promise<ReadResult>;
}

interface Reader {
  tenantID: string;
  process: ReaderProcess;
  /** Paths of the files of its last request; their database may still be in the memory of the process. */
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
  const pool = new Set<Reader>();
  const reads = createSemaphore({ permits: maxAtOnce, maxPerTenant, dynamicLimit: 1 });
  const timer = setInterval(sweep, Math.min(idleMs, 5_000)).unref();

  function sweep(): void {
    const before = performance.now() - idleMs;
    for (const reader of pool) if (!reader.isBusy && reader.idleSince < before) end(reader);
  }

  function end(reader: Reader): void {
    pool.delete(reader);
    reader.process.kill();
  }

  /** Returns the tenant's process that read the same files last, else another idle one of the tenant, else a new one. */
  function readerFor({ tenantID, request }: ReadTask): Reader {
    const about = aboutOf(request);
    const idle = [...pool].filter(({ isBusy, process }) => !isBusy && process.isUsable);
    const own = idle.filter((reader) => reader.tenantID === tenantID);
    const known = own.find((reader) => reader.about === about) ?? own[0];
    const reader = known ?? open(tenantID);
    return Object.assign(reader, { about, isBusy: true });
  }

  /**
   * Starts a process. If the pool is full, it first ends those that have been idle longest, so that a tenant in constant use keeps
   * its process beside many tenants with single requests.
   */
  function open(tenantID: string): Reader {
    const idle = [...pool].filter(({ isBusy }) => !isBusy).toSorted((a, b) => a.idleSince - b.idleSince);
    for (const reader of idle) if (pool.size >= maxAtOnce) end(reader);
    const reader = { tenantID, process: new ReaderProcess(folder, logger), about: '', isBusy: true, idleSince: 0 };
    pool.add(reader);
    return reader;
  }

  function release(reader: Reader): void {
    Object.assign(reader, { isBusy: false, idleSince: performance.now() });
    if (!reader.process.isUsable) pool.delete(reader);
  }

  return {
    async read(task) {
      const { tenantID, request, signal } = task;
      const releasePermit = await reads.acquirePermit(flowOf(tenantID), signal);
      if (!releasePermit) throw signal.reason;
      const reader = readerFor(task);
      try {
        return await reader.process.read(request, signal);
      } finally {
        release(reader);
        releasePermit();
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      for (const reader of [...pool]) end(reader);
    },
  };
}

function aboutOf(request: ReadRequest): string {
  if ('file' in request) return request.file.path;
  return request.files.map(({ path }) => path).join();
}
