import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import type { NodeDispatcher } from '../execute/node-dispatcher.ts';
import { createReadChunk, versionOfChunk } from '../maps/read-chunk.ts';
import type { Restore } from '../restore/restore.ts';
import type { Chunk } from '../state/chunk.ts';
import type { ClaimedRow, ClaimRow } from '../state/claimed-row.ts';
import { type LoadedVersion, type ReleaseReason, Run } from '../state/run.ts';
import { createWithInput } from '../values/large-inputs.ts';
import type { ResidentValues } from '../values/resident-values.ts';
import type { HandBack } from './hand-back.ts';
import { release, releaseFenced } from './release.ts';
import { createVersions } from './versions.ts';

/** Begins a claimed run. Resolves when it was released, with the reason, or with null if it could not begin. */
export type Begin = (row: ClaimRow) => Promise<ReleaseReason | null>;

interface Dependencies {
  pool: Pool;
  leaseID: () => string;
  logger: Logger;
  config: Pick<WorkerConfig, 'nodeOutputMaxBytes' | 'runOutputMaxBytes'>;
  owned: Map<string, Run>;
  values: Pick<ResidentValues, 'acquire'>;
  dispatcher: Pick<NodeDispatcher, 'begin' | 'resume'>;
  restore: Restore;
  handBack: HandBack;
  isDraining(): boolean;
  releaseRun(run: Run, reason: ReleaseReason): void;
  /** Updates the memory that the run is counted with. */
  updateMemoryUse(run: Run): void;
  /** A run has got memory, or waits for some. */
  onMemoryChanged(): void;
}

export function createBegin(dependencies: Dependencies): Begin {
  const { pool, leaseID, logger, config, owned, values, dispatcher, restore, handBack } = dependencies;
  const { isDraining, releaseRun, updateMemoryUse, onMemoryChanged } = dependencies;
  const loadVersion = createVersions(pool);
  const readChunk = createReadChunk(pool);
  const withInput = createWithInput(pool);

  async function begin(row: ClaimRow): Promise<ReleaseReason | null> {
    let run: Run | undefined;
    try {
      const compiled = await loadVersion(row.version_id);
      const chunk = row.map_id === null ? null : await readChunk({ ...row, map_id: row.map_id });
      const version = chunk ? versionOfChunk(compiled, chunk) : compiled;
      const loaded = await withInput(row, compiled.creatorID, (whole) => load(whole, version, chunk));
      // The large input of the run could not be read in time.
      if (loaded === undefined) await release(pool, leaseID(), row);
      if (!loaded?.hasMemory) return loaded?.run.releaseReason ?? null;
      run = loaded.run;
      await startOrResume(run, row);
    } catch (error) {
      if (run) releaseRun(run, 'fenced');
      await handBack(row, error);
      return null;
    }
    await run.released;
    return run.releaseReason;
  }

  /** Adds a claimed run to those that this process owns, and waits for memory for it. Null: the run was given back. */
  async function load(
    row: ClaimedRow,
    version: LoadedVersion,
    chunk: Chunk | null,
  ): Promise<{ run: Run; hasMemory: boolean } | null> {
    // The run was claimed or loaded after `drain` has collected the runs to hand back.
    if (isDraining()) {
      await release(pool, leaseID(), row);
      return null;
    }
    const earlier = owned.get(row.id);
    if (earlier) {
      await startOver(row, earlier);
      return null;
    }
    const run = new Run(row, version, chunk);
    owned.set(run.id, run);
    try {
      return { run, hasMemory: await awaitMemory(run, row) };
    } catch (error) {
      releaseRun(run, 'fenced');
      throw error;
    }
  }

  async function startOrResume(run: Run, { seq }: Pick<ClaimedRow, 'seq'>): Promise<void> {
    if (seq === 0) dispatcher.begin(run);
    else {
      const restored = await restore(run);
      updateMemoryUse(run);
      dispatcher.resume(run, restored);
    }
    run.begin();
  }

  /** Waits for memory; a run that gets none is released. */
  async function awaitMemory(run: Run, row: ClaimedRow): Promise<boolean> {
    const { nodeOutputMaxBytes, runOutputMaxBytes } = config;
    const maxOutputLength = Math.min(row.seq * nodeOutputMaxBytes, runOutputMaxBytes);
    const acquiring = values.acquire(run, row.held_length ?? run.state.residentLength + maxOutputLength);
    onMemoryChanged();
    if (await acquiring) return true;
    if (run.releaseReason) return false;
    releaseRun(run, 'yielded');
    await release(pool, leaseID(), row);
    return false;
  }

  /**
   * Handles the claim of a run that this process already owns: Postgres forgot the earlier claim in a crash, so both have the same epoch and
   * lease. The fence cannot tell them apart. Both end, and the run is claimed again under the next epoch.
   */
  async function startOver(row: ClaimedRow, earlier: Run): Promise<void> {
    logger.warn(
      { instanceID: row.id, epoch: row.epoch },
      'run was claimed twice, because Postgres forgot a claim; it starts over',
    );
    releaseRun(earlier, 'fenced');
    await releaseFenced(pool, leaseID(), [row]);
  }

  return begin;
}
