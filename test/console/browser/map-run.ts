import { newID } from '#shared/core/ids.ts';
import type { Cluster } from '#test/support/cluster.ts';
import { aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { graph, noop } from '#test/support/graphs.ts';

const CHUNK = 200;
const CONCURRENCY = 50;
/** So many are left to the worker. */
const LEFT = 10;

export interface MapRun {
  instanceID: string;
  /** Has the worker count the last chunk that has ended, start those that are left, and end the run. */
  goOn(): Promise<void>;
}

/**
 * A run amid its map, with the rows that the engine leaves: all chunks but ten have ended, and the worker goes on from them. To work
 * off all items takes many times as long. Steps are written of the items beside the failed one alone: no page reads those of others.
 */
export async function aMapRun(
  { cluster, tenant }: { cluster: Cluster; tenant: TestTenant },
  { items, failed }: { items: number; failed: number },
): Promise<MapRun> {
  const map = {
    type: 'map',
    sourceVariable: '{{ctx.input.items}}',
    concurrency: CONCURRENCY,
    failurePolicy: 'collect',
  };
  const end = { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.mapResults}}' }] };
  const { id: workflowID, versionID } = await aWorkflow(cluster, {
    tenant,
    title: 'Many items',
    ...graph({ start: { type: 'start' }, map, each: noop, end }, ['start>map', 'map:map>each', 'map:completed>end']),
  });
  const [instanceID, mapID] = [newID(), newID()];
  const chunks = items / CHUNK;
  const ids = Array.from({ length: chunks - LEFT }, () => newID());
  const values = [tenant.id, tenant.creator.id, workflowID, versionID, instanceID, mapID, items, failed, ids];
  const client = await cluster.pool.connect();
  try {
    await client.query('begin');
    for (const text of ROWS) await client.query(asStatement(text, values));
    await client.query('commit');
  } finally {
    client.release();
  }
  return {
    instanceID,
    async goOn() {
      // As if the process had died that ended it.
      const lost = `update map_chunk set due = map_id, ended_at = now() - interval '3 seconds' where map_id = $1 and n = $2`;
      await cluster.pool.query(lost, [mapID, ids.length]);
    },
  };
}

const names = ['tenant', 'creator', 'workflow', 'version', 'run', 'map', 'items', 'failed', 'ids'];

/** Only the values that the statement names: Postgres does not know the type of others. */
function asStatement(text: string, values: unknown[]) {
  const used: unknown[] = [];
  const numbered = text.replace(/(?<!:):([a-z]+)/g, (_, name: string) => {
    used.push(values[names.indexOf(name)]);
    return `$${used.length}`;
  });
  return { text: numbered, values: used };
}

const caller = `jsonb_build_object('type', 'user', 'id', :creator::text, 'userID', :creator::text, 'origin', 'direct')`;
const list = '(select jsonb_agg(n order by n) from generate_series(0, :items::int - 1) n)';
const activationOf = (item: string) => `jsonb_build_array(jsonb_build_object('nodeID', 'map', 'iteration', ${item}))`;

const ROWS = [
  `insert into workflow_instance (id, tenant_id, creator_id, workflow_id, version_id, status, class, started_at, deadline_at, caller, input, seq, epoch)
   values (:run::uuid, :tenant::uuid, :creator::uuid, :workflow::uuid, :version::uuid, 'WAITING', 'interactive', now(), now() + interval '7 days',
     ${caller}, jsonb_build_object('items', ${list}), 3, 1)`,
  `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload, started)
   select id, 2, 'start', 0, 1, 'SUCCESS', 'output', jsonb_build_object('output', jsonb_build_object('started', true, 'inputReceived', input)), '["map"]'
   from workflow_instance where id = :run::uuid`,
  `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, payload)
   values (:run::uuid, 3, 'map', 0, 1, 'SUSPENDED', jsonb_build_object('wait', 'chunks', 'mapID', :map::uuid, 'waits', '{"reason": "child"}'::jsonb,
     'progress', jsonb_build_object('done', 0, 'total', :items::int, 'failed', 0)))`,
  `insert into run_wait (instance_id, node_id, kind, ref) values (:run::uuid, 'map', 'chunks', :map::uuid)`,
  `insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, started, ended, done_items, failed_items, max_result_size)
   select :map::uuid, id, 'map', '0', 1,
     '{"failsFast": false, "tolerated": null, "concurrency": ${CONCURRENCY}, "itemVariable": "item", "indexVariable": "index", "collectResults": true}',
     jsonb_build_object('input', input), :items::int, :items::int / ${CHUNK}, ${CONCURRENCY}, cardinality(:ids::uuid[]), cardinality(:ids::uuid[]) - 1,
     (cardinality(:ids::uuid[]) - 1) * ${CHUNK}, 1, 5242880
   from workflow_instance where id = :run::uuid`,
  `insert into map_chunk (map_id, n, first, size, items, instance_id, status, failed, result_size, ended_at)
   select :map::uuid, n, (n - 1) * ${CHUNK}, ${CHUNK}, (select jsonb_agg(i order by i) from generate_series((n - 1) * ${CHUNK}, n * ${CHUNK} - 1) i),
     (:ids::uuid[])[n], case when n <= cardinality(:ids::uuid[]) then 'COMPLETED' end,
     case when n <= cardinality(:ids::uuid[]) then case when n = :failed::int / ${CHUNK} + 1 then 1 else 0 end end, 10, now()
   from generate_series(1, :items::int / ${CHUNK}) n`,
  `update map_chunk set ended_at = null, result_size = null where map_id = :map::uuid and instance_id is null`,
  `insert into workflow_instance (id, tenant_id, creator_id, workflow_id, version_id, status, class, started_at, completed_at, deadline_at, caller, input,
     output, seq, epoch, parent_id, parent_node_id, map_id)
   select c.instance_id, :tenant::uuid, :creator::uuid, :workflow::uuid, :version::uuid, 'COMPLETED', 'interactive', now(), now(), now() + interval '7 days',
     ${caller}, '{}', jsonb_build_object('size', 10, 'failed', c.failed, 'results', (select jsonb_agg('{"selectedBranch": "yes"}'::jsonb) from generate_series(1, c.size))),
     2 * c.size + 3, 1, :run::uuid, 'map', :map::uuid
   from map_chunk c where c.map_id = :map::uuid and c.instance_id is not null`,
  `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, payload, started)
   select instance_id, 2, 'map', 0, 1, 'SUSPENDED',
     '{"wait": "iterations", "output": {}, "repeat": {"delayMs": 0, "failedItems": "keep", "itemVariable": "item", "indexVariable": "index"}}',
     jsonb_build_array(jsonb_build_object('nodeID', 'each', 'frame', ${activationOf('first')}))
   from map_chunk where map_id = :map::uuid and instance_id is not null`,
  `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, frame, payload, started)
   select c.instance_id, case when is_last then 2 * c.size + 1 else 2 * k + 4 end, 'each', item, 1, case when item = :failed::int then 'FAILED' else 'SUCCESS' end,
     case when item = :failed::int then null else 'yes' end, ${activationOf('item')},
     case when item = :failed::int then '{"error": {"code": "NODE_FAILED", "message": "no"}, "failsItem": true}'::jsonb
       else '{"output": {"success": true, "selectedBranch": "yes"}}'::jsonb end,
     case when not is_last then jsonb_build_array(jsonb_build_object('nodeID', 'each', 'frame', ${activationOf('item + 1')})) end
   from map_chunk c, generate_series(0, c.size - 1) k, lateral (select c.first + k as item, k = c.size - 1 as is_last) one
   where c.map_id = :map::uuid and c.n = :failed::int / ${CHUNK} + 1`,
  `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload)
   select instance_id, 2 * size + 2, 'map', 0, 1, 'SUCCESS', 'map', jsonb_build_object('output', jsonb_build_object('totalItems', size, 'failedItems', failed))
   from map_chunk where map_id = :map::uuid and instance_id is not null
   union all
   select instance_id, 2 * size + 3, null, 0, 1, 'COMPLETED', null, '{"output": {}}'
   from map_chunk where map_id = :map::uuid and instance_id is not null`,
];
