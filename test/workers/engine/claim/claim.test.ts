import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { createClaims } from '#workers/engine/claim/claim.ts';

describe('claiming a run', () => {
  let deployment: Deployment;
  let versionID: string;
  beforeAll(async () => {
    deployment = await startDeployment();
    versionID = await deployment.saveVersion(noops(1));
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const claimAs = (leaseID: string) => createClaims(deployment.pool, () => leaseID).claim;

  async function accepted(count: number): Promise<string[]> {
    return deployment.runs.acceptMany(Array.from({ length: count }, () => deployment.newRun(versionID)));
  }

  test.each([0, 2, 7])('with a job of epoch %i instead of 1 changes nothing', async (epoch) => {
    const [id = '', other = ''] = await accepted(2);
    await deployment.pool.query('update workflow_instance set dispatched_at = now() where id = $1', [id]);
    const before = await deployment.read(id);
    const claim = claimAs(newID());

    const [refused, claimed] = await Promise.all([
      claim({ instanceID: id, epoch }),
      claim({ instanceID: other, epoch: 1 }),
    ]);

    expect(refused).toBeNull();
    expect(await deployment.read(id)).toEqual(before);
    expect(claimed).toMatchObject({ id: other, epoch: 1 });
  });

  test('with the job of an earlier claim changes nothing', async () => {
    const [id = ''] = await accepted(1);
    const leaseID = newID();
    await claimAs(leaseID)({ instanceID: id, epoch: 1 });

    expect(await claimAs(newID())({ instanceID: id, epoch: 1 })).toBeNull();
    expect(await claimAs(newID())({ instanceID: id, epoch: 2 })).toBeNull();
    expect(await deployment.read(id)).toMatchObject({ status: 'RUNNING', epoch: 1, held_by: leaseID, ready_at: null });
  });

  test('with two jobs at once gives it to one of them', async () => {
    const [id = ''] = await accepted(1);
    const claim = claimAs(newID());

    const claimed = await Promise.all([1, 2].map(() => claim({ instanceID: id, epoch: 1 })));

    expect(claimed.map((row) => row?.epoch ?? null)).toEqual([1, null]);
  });

  test('locks the rows in the order of their ids, as a dispatch does, so that the two cannot deadlock', async () => {
    const ids = (await accepted(3)).sort();
    const [first, second = '', third] = ids;
    const lockOwner = await deployment.pool.connect();
    await lockOwner.query('begin');
    await lockOwner.query('select from workflow_instance where id = $1 for update', [second]);
    const claim = claimAs(newID());

    const claims = [third, first, second].map((id) => claim({ instanceID: id ?? '', epoch: 1 }));
    const isFree = async (id = '') => {
      const { rows } = await deployment.pool.query(
        'select from workflow_instance where id = $1 for update skip locked',
        [id],
      );
      return rows.length === 1;
    };
    await eventually(async () => expect(await isFree(first)).toBe(false));
    const thirdWasFree = await isFree(third);
    await lockOwner.query('commit');
    lockOwner.release();

    expect(thirdWasFree).toBe(true);
    for (const row of await Promise.all(claims)) expect(row).not.toBeNull();
  });

  test('succeeds for one of many workers at once', async () => {
    const ids = await accepted(20);
    const claims = Array.from({ length: 4 }, () => claimAs(newID()));

    const won = await Promise.all(
      ids.map(async (instanceID) => {
        const rows = await Promise.all(claims.map((claim) => claim({ instanceID, epoch: 1 })));
        return rows.filter((row) => row !== null).length;
      }),
    );

    expect(won).toEqual(ids.map(() => 1));
  });
});
