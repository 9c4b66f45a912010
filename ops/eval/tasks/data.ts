import assert from 'node:assert/strict';
import { find, idAfter, type Task, type Workspace } from '../task.ts';
import { runSQL } from '../workspace.ts';

const orders = { databaseSchemaName: 'public', databaseTableName: 'orders' };

function addOrders(workspace: Workspace): Promise<unknown> {
  return runSQL(
    workspace,
    `create table orders (id int primary key, customer text not null, total numeric not null, state text not null default 'open', placed_on date not null);
     insert into orders values (1, 'Ada', 20, 'open', '2026-09-03'), (2, 'Grace', 40, 'paid', '2026-09-20'),
       (3, 'Alan', 60, 'open', '2026-10-01'), (4, 'Edsger', 80, 'paid', '2019-05-05'), (5, 'Barbara', 10, 'open', '2018-01-01')`,
  );
}

export const dataTasks: Task[] = [
  {
    name: 'count-rows',
    prompt: 'How many orders are open, and what is their total?',
    async prepare(workspace) {
      await addOrders(workspace);
      return {
        async solve(tools) {
          await tools('describe_tables');
          const query = "select count(*) as open, sum(total) as total from orders where state = 'open'";
          return tools('try_query', { options: { query } });
        },
        async check(told) {
          assert.match(told, /\b3\b/);
          assert.match(told, /\b90\b/);
        },
      };
    },
  },
  {
    name: 'describe-a-table',
    prompt: 'Which columns does the table of orders have, and which of them must not be empty?',
    async prepare(workspace) {
      await addOrders(workspace);
      return {
        solve: (tools) => tools('describe_tables'),
        async check(told) {
          for (const column of ['id', 'customer', 'total', 'state', 'placed_on'])
            assert.ok(told.includes(column), column);
        },
      };
    },
  },
  {
    name: 'add-a-row',
    prompt: 'Add an order of Margaret over 120, placed on 2 November 2026.',
    async prepare(workspace) {
      await addOrders(workspace);
      return {
        async solve(tools) {
          await tools('describe_tables');
          const rows = [{ id: 6, customer: 'Margaret', total: 120, placed_on: '2026-11-02' }];
          return tools('change_rows', { ...orders, change: 'add', rows });
        },
        async check() {
          const rows = await runSQL(
            workspace,
            `select total::int, placed_on::text from orders where customer = 'Margaret'`,
          );
          assert.deepEqual(rows, [{ total: 120, placed_on: '2026-11-02' }]);
        },
      };
    },
  },
  {
    name: 'delete-old-rows',
    prompt: 'Delete the orders that were placed before 2020. Keep all others.',
    async prepare(workspace) {
      await addOrders(workspace);
      return {
        async solve(tools) {
          await tools('list_rows', { ...orders, order: 'placed_on' });
          return tools('change_rows', { ...orders, change: 'delete', where: { placed_on: { '<': '2020-01-01' } } });
        },
        async check() {
          assert.deepEqual(await runSQL(workspace, 'select id from orders order by id'), [
            { id: 1 },
            { id: 2 },
            { id: 3 },
          ]);
        },
      };
    },
  },
  {
    name: 'store-a-query',
    prompt:
      'Store a query "Revenue by month" that gives the month and the revenue of paid orders, and show me what it gives.',
    async prepare(workspace) {
      await addOrders(workspace);
      return {
        async solve(tools) {
          await tools('describe_tables');
          const query = `select to_char(placed_on, 'YYYY-MM') as month, sum(total) as revenue from orders where state = 'paid' group by 1 order by 1`;
          const saved = await tools('save_query', {
            title: 'Revenue by month',
            datasourceType: 'tenantdb',
            options: { query },
          });
          return tools('run_query', { dataQueryID: idAfter('dataQueryID', saved) });
        },
        async check(told) {
          assert.match(told, /2026-09/);
          const { dataQueries } = await workspace.gantry.call('listQueries', { path: workspace.path });
          const [stored] = dataQueries;
          assert.equal(stored?.dataQueryTitle, 'Revenue by month');
          const path = { ...workspace.path, dataQueryID: stored.id };
          assert.match(
            JSON.stringify(await workspace.gantry.call('runQuery', { path, body: {} })),
            /2019-05.*80|80.*2019-05/,
          );
        },
      };
    },
  },
  {
    name: 'mend-a-query',
    prompt:
      'The query "Orders of a customer" shows orders of all customers. It should show those of the customer in its input.',
    async prepare(workspace) {
      await addOrders(workspace);
      const inputDefinitions = [{ key: 'customer', type: 'string', required: true }];
      const body = {
        ...{ dataQueryTitle: 'Orders of a customer', datasourceType: 'tenantdb' },
        dataQueryOptions: { query: 'select * from orders', inputDefinitions },
      };
      const { dataQuery } = await workspace.gantry.call('createQuery', { path: workspace.path, body: body as never });
      return {
        async solve(tools) {
          const id = await find(tools, 'query', 'Orders of a customer');
          await tools('read_asset', { type: 'query', id });
          const query = 'select * from orders where customer = {{inputs.customer}}';
          await tools('save_query', { dataQueryID: id, options: { query, inputDefinitions } });
          return tools('run_query', { dataQueryID: id, inputValues: { customer: 'Ada' } });
        },
        async check() {
          const path = { ...workspace.path, dataQueryID: dataQuery.id };
          const body = { inputValues: { customer: "Ada'; --" } };
          const none = await workspace.gantry.call('runQuery', { path, body: body as never });
          assert.doesNotMatch(JSON.stringify(none), /Grace/);
          const some = await workspace.gantry.call('runQuery', {
            path,
            body: { inputValues: { customer: 'Alan' } } as never,
          });
          assert.match(JSON.stringify(some), /Alan/);
        },
      };
    },
  },
];
