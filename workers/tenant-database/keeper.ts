import type { Messages } from '#shared/backplane/index.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import type { Runs } from '#shared/runs.ts';
import { resumeDeletions, TENANT_DELETED_CHANNEL } from '#shared/tenants.ts';
import { endOrphans } from './orphans.ts';
import { workOffRemovals } from './removals.ts';
import { checkServers } from './rights.ts';
import type { TenantServers } from './servers.ts';

interface Needs {
  pool: Pool;
  runs: Runs;
  servers: TenantServers;
  messages: Messages;
  logger: Logger;
}

interface Step {
  name: string;
  everyMs: number;
  run(): Promise<unknown>;
}

/**
 * Does what tenants and their databases need without a request: deletions, and the servers' housekeeping. Every worker does so;
 * steps share their work by rows that they claim. Apart from the engine's sweep, because a server that is slow or away must delay
 * no run; and each step has a timer of its own, so that none delays another.
 */
export function createKeeper({ pool, runs, servers, messages, logger }: Needs): AsyncDisposable {
  const steps: Step[] = [
    {
      name: 'resume deletions',
      everyMs: 60_000,
      run: () =>
        resumeDeletions(pool, runs, (error, tenantID) =>
          logger.warn({ err: error, tenantID }, 'deletion of a tenant failed; it is tried again'),
        ),
    },
    { name: 'check servers', everyMs: 300_000, run: () => checkServers({ pool, servers, logger }) },
    { name: 'end lost connections', everyMs: 10_000, run: () => endOrphans({ pool, servers, logger }) },
    { name: 'drop databases', everyMs: 10_000, run: () => workOffRemovals({ pool, servers, logger }) },
  ];
  const kept = steps.map((step) => keep(step, logger));
  const removals = kept.at(-1);
  const unsubscribe = messages.subscribe(TENANT_DELETED_CHANNEL, () => removals?.now());
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await Promise.all(kept.map((step) => step[Symbol.asyncDispose]()));
    },
  };
}

interface Kept extends AsyncDisposable {
  /** Runs the step now, and again if it is running. */
  now(): void;
}

function keep({ name, everyMs, run }: Step, logger: Logger): Kept {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  let isWanted = false;

  function now(): void {
    isWanted = true;
    clearTimeout(timer);
    if (!isStopped) running ??= rounds();
  }

  async function rounds(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      await run().catch((error: unknown) =>
        logger.warn({ err: error, step: name }, 'a step failed; it is tried again'),
      );
    }
    running = undefined;
    if (!isStopped) timer = setTimeout(now, everyMs * (0.8 + 0.4 * Math.random())).unref();
  }

  now();
  return {
    now,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
