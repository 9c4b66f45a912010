import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Logger } from '#shared/core/logger.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { CompletionNotice } from '#shared/runs/completion-notices.ts';

interface Needs {
  messages: Messages;
  /** Polls one job. False: another process has it locked. */
  poll(cronJobID: string): Promise<boolean>;
  logger: Logger;
}

/** Polls the job of a backfill when the run of one of its ticks ends, so that the next tick does not wait for the poll of each second. */
export interface BackfillFollower extends Disposable {
  /** The channel on which workers tell this process of the ends of runs; stored with each run of a backfill. */
  readonly channel: string;
  /** Runs of ticks that a poll of this process has started. */
  add(started: readonly { instanceID: string; cronJobID: string }[]): void;
}

/** Runs that are remembered. The jobs of others are polled with all others, once a second. */
const MAX_RUNS = 10_000;
/** Attempts to poll a job that another process has locked. */
const ATTEMPTS = 5;
const PAUSE_MS = 20;

export function createBackfillFollower({ messages, poll, logger }: Needs): BackfillFollower {
  const channel = `backfills.${randomBytes(8).toString('hex')}`;
  const jobOf = new LRUCache<string, string>({ max: MAX_RUNS });
  const wanted = new Set<string>();
  let working = false;

  async function pollWanted(): Promise<void> {
    if (working) return;
    working = true;
    for (const cronJobID of wanted) {
      wanted.delete(cronJobID);
      try {
        for (let attempt = 1; !(await poll(cronJobID)) && attempt < ATTEMPTS; attempt += 1) await sleep(PAUSE_MS);
      } catch (error) {
        logger.debug({ err: error }, 'the ticks of a backfill are left to the next poll');
      }
    }
    working = false;
  }

  const unsubscribe = messages.subscribe(channel, (message) => {
    for (const { instanceID } of Ends.safeParse(message).data ?? []) {
      const cronJobID = jobOf.get(instanceID);
      jobOf.delete(instanceID);
      if (cronJobID !== undefined) wanted.add(cronJobID);
    }
    void pollWanted();
  });

  return {
    channel,
    add(started) {
      for (const { instanceID, cronJobID } of started) jobOf.set(instanceID, cronJobID);
    },
    [Symbol.dispose]: unsubscribe,
  };
}

const Ends = z.array(CompletionNotice);
