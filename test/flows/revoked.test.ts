import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules, type RuleChange } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aMember, anApiKey, aTenant, aWorkflow, type TestTenant, type TestUser } from '#test/support/factories.ts';

/** Changes permissions in one process and checks the very next request in the other, which has used the old ones before. */
describe('a permission changed in one API process', () => {
  let cluster: Cluster;
  let tenant: TestTenant;
  let member: TestUser;
  let workflowID: string;
  const role = `role:${newID()}`;
  beforeAll(async () => {
    cluster = await startCluster({ workers: false, apis: 2 });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    tenant = await aTenant(cluster);
    ({ id: workflowID } = await aWorkflow(cluster, { tenant }));
    member = await aMember(cluster, { tenant, can: ['workflow.list'] });
    await change({
      add: [
        { subject: member.id, role },
        { subject: role, object: 'workflow:*', action: 'read' },
      ],
    });
  });

  /** Runs a change in the first process, as its handlers do. */
  async function change(what: RuleChange): Promise<void> {
    await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, what);
  }

  async function read(user = member): Promise<number[]> {
    const answers = cluster.apis.map(({ baseURL }) =>
      cluster.as(user, { baseURL }).in(tenant).get(`T/workflows/${workflowID}`),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  }

  async function listed(): Promise<string[][]> {
    const answers = cluster.apis.map(({ baseURL }) => cluster.as(member, { baseURL }).in(tenant).get('T/workflows'));
    return (await Promise.all(answers)).map(({ body }) => body.workflows.map(({ id }: { id: string }) => id));
  }

  const changes: Record<string, () => Promise<unknown>> = {
    'a removed rule': () => change({ remove: [{ subject: role, object: 'workflow:*' }] }),
    'an added deny rule': () =>
      change({ add: [{ subject: member.id, object: `workflow:${workflowID}`, action: 'read', effect: 'deny' }] }),
    'a deny rule of a role': () => change({ add: [{ subject: role, object: '*', action: '*', effect: 'deny' }] }),
    'a role removed from a member': () => change({ remove: [{ subject: member.id, role }] }),
    'a deleted role': () => change({ remove: [{ subject: role }, { role }] }),
  };

  for (const [what, takeAway] of Object.entries(changes))
    test(`${what} applies in every process at once, lists included`, async () => {
      expect(await read()).toEqual([200, 200]);
      expect(await listed()).toEqual([[workflowID], [workflowID]]);

      await takeAway();

      expect(await read()).toEqual([403, 403]);
      const lists = cluster.apis.map(({ baseURL }) => cluster.as(member, { baseURL }).in(tenant).get('T/workflows'));
      // Without a readable object the list is empty, or refused when no rule allows it.
      for (const { status, body } of await Promise.all(lists))
        expect([200, 403].includes(status) && !JSON.stringify(body).includes(workflowID)).toBe(true);
    });

  test('is lost by a removed member, who has it again when they return', async () => {
    expect(await read()).toEqual([200, 200]);
    const who = [tenant.id, member.id];
    await cluster.pool.query('delete from membership where tenant_id = $1 and user_id = $2', who);
    expect(await read()).toEqual([403, 403]);

    await cluster.pool.query('insert into membership (tenant_id, user_id) values ($1, $2)', who);
    expect(await read()).toEqual([200, 200]);
  });

  test('rejects a blocked user and their API keys', async () => {
    const key = await anApiKey(cluster, { tenant, creator: member, can: ['workflow.read'] });
    const readWithKey = async () => {
      const answers = cluster.apis.map(({ baseURL }) =>
        cluster.withKey(key, { baseURL }).in(tenant).get(`T/workflows/${workflowID}`),
      );
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect([await read(), await readWithKey()]).toEqual([
      [200, 200],
      [200, 200],
    ]);

    await cluster.pool.query('update app_user set is_disabled = true where id = $1', [member.id]);

    expect([await read(), await readWithKey()]).toEqual([
      [401, 401],
      [401, 401],
    ]);
  });

  test('has its current state after each of many changes', async () => {
    for (let n = 0; n < 15; n += 1) {
      await change({ remove: [{ subject: member.id, role }] });
      expect(await read()).toEqual([403, 403]);
      await change({ add: [{ subject: member.id, role }] });
      expect(await read()).toEqual([200, 200]);
    }
  });
});
