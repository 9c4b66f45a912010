import { serialRun } from './bare-runs.ts';
import { noopChain, percentile } from './environment.ts';
import type { Row } from './row.ts';

const RUNS = 200;
const STEPS = 10;

/** One run at a time: what a node costs, and how long a one-node run takes from acceptance to its end. */
export const p2: Row = async (environment) => {
  const { pool, runs, tenantID } = environment;
  await environment.startWorker();

  async function save(nodes: number): Promise<string> {
    const graph = noopChain(nodes);
    return environment.saveGraph(graph.nodes, graph.edges, { durability: 'node' });
  }

  async function measure(versionID: string): Promise<number[]> {
    const times: number[] = [];
    for (let i = 0; i < RUNS; i += 1) {
      const began = performance.now();
      const { instanceID } = await runs.accept({
        tenantID,
        workflowID: null,
        versionID,
        caller: { type: 'system', id: tenantID, origin: 'direct' },
        input: {},
        timeoutMs: 60_000,
      });
      for (;;) {
        const { rows } = await pool.query({
          name: 'done',
          text: 'select 1 from workflow_instance where id = $1 and completed_at is not null',
          values: [instanceID],
        });
        if (rows.length > 0) break;
      }
      if (i >= 20) times.push(performance.now() - began);
    }
    return times;
  }

  const oneNode = await save(1);
  const one = await measure(oneNode);
  const ten = await measure(await save(STEPS + 1));
  const perNode = (percentile(ten, 50) - percentile(one, 50)) / STEPS;
  const bare = await bareCommit();
  // The outcomes of the start and the node.
  const alone = await serialRun(environment, oneNode, 2);
  const settings = { ...(await environment.settings()), runs: RUNS };
  const round = (value: number) => Number(value.toFixed(3));
  return [
    {
      figure: 'per node',
      value: round(perNode),
      unit: 'ms p50',
      floor: round(bare),
      ratio: round(perNode / bare),
      settings: { ...settings, fencedCommitAlone: alone.commit },
    },
    {
      figure: 'accept to finished, one node',
      value: round(percentile(one, 50)),
      unit: 'ms p50',
      floor: round(bare),
      ratio: round(percentile(one, 50) / bare),
      settings: {
        ...settings,
        p99: round(percentile(one, 99)),
        // Accepted, claimed, two fenced commits, and no engine.
        alone: alone.run,
        ratioToAlone: round(percentile(one, 50) / alone.run),
      },
    },
  ];

  /** One durable insert on its own. */
  async function bareCommit(): Promise<number> {
    await pool.query('create table if not exists bare_commit (id bigserial primary key, payload jsonb)');
    const times: number[] = [];
    for (let i = 0; i < 500; i += 1) {
      const began = performance.now();
      await pool.query({ name: 'bare', text: `insert into bare_commit (payload) values ('{}')` });
      times.push(performance.now() - began);
    }
    return percentile(times, 50);
  }
};
