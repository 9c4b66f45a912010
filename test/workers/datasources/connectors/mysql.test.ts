import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { mysql } from '#shared/datasources/types/mysql.ts';
import { certificates } from '#test/support/certificates.ts';
import { startCluster } from '#test/support/cluster.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { aDatasource, aTenant } from '#test/support/factories.ts';
import { expectOneSaleOfKilledWorker } from '#test/support/killed-between-commits.ts';
import { describeReceipts } from '#test/support/receipts.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { type EmbeddedMariaDB, findMariaDB, startMariaDB } from '../../../servers/mariadb.ts';

const found = await findMariaDB();
if (found.path === null) console.warn(`The tests of MySQL datasources are skipped: ${found.reason}.`);

const secret = 'not-the-password';
let dir: string;
let server: EmbeddedMariaDB;
let datasource: OpenedDatasource;
let watcher: OpenedDatasource;

describe.skipIf(found.path === null)('MySQL', () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-test-mariadb-'));
    await writeFile(join(dir, 'server.pem'), certificates.server);
    await writeFile(join(dir, 'server.key'), certificates.serverKey);
    const settings = { 'ssl-cert': join(dir, 'server.pem'), 'ssl-key': join(dir, 'server.key'), 'local-infile': '1' };
    server = await startMariaDB({ dir, settings });
    await using admin = await open({ database: 'mysql' });
    await admin.execute({ query: 'create database gantry' });
    datasource = await open({});
    watcher = await open({});
  });
  afterAll(async () => {
    await watcher?.[Symbol.asyncDispose]();
    await datasource?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  function details(changes: JsonObject): JsonObject {
    const { user, password, port } = server;
    return {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port, user, password, database: 'gantry', ...changes },
    };
  }

  function open(changes: JsonObject, outbound?: ReturnType<typeof createOutbound>) {
    return openDatasource(mysql, details(changes), outbound && { outbound });
  }

  /** The value of one row with one column. */
  async function single(query: string, inputs: JsonObject = {}): Promise<Json | undefined> {
    const { data } = await datasource.execute({ query }, inputs);
    return Object.values((data as JsonObject[])[0] ?? {})[0];
  }

  describeReceipts({
    open: () => datasource,
    createTable: 'create table $table (note longtext)',
    slowInsert: (ms) => `insert into once_only (note) select if(sleep(${ms / 1000}) = 0, 'a', 'a')`,
    refused: ['create table other (id int)', '/*! truncate once_only */', 'set autocommit = 1', 'commit'],
    makeOld: 'update gantry_receipt set expires_at = utc_timestamp() - interval 1 second',
  });

  test('a worker that is killed between the commit of a query and its own leaves the work done once', async () => {
    await datasource.execute({ query: 'create or replace table sold (id int auto_increment primary key, note text)' });
    await using cluster = await startCluster({ workers: false });
    const tenant = await aTenant(cluster);
    const { user, password, port } = server;
    await expectOneSaleOfKilledWorker(
      { cluster, tenant },
      {
        datasource: await aDatasource(cluster, { tenant, type: 'mysql', options: details({}) }),
        query: "insert into sold (note) values ('a') returning id, note",
        async hold() {
          const other = await createConnection({ host: '127.0.0.1', port, user, password, database: 'gantry' });
          await other.query('lock tables sold write');
          return { [Symbol.asyncDispose]: () => other.end() };
        },
        countWaiting: () => working('insert into sold'),
        readRows: async () => (await datasource.execute({ query: 'select id, note from sold' })).data,
      },
    );
  }, 180_000);

  test('connects by details and by a connection string, and binds the values of a query', async () => {
    const { user, password, port } = server;
    await using byString = await openDatasource(mysql, {
      connectionOption: 'connectionString',
      connectionString: `mysql://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/gantry`,
    });
    const query = { query: "select {{inputs.n}} + 1 as n, 'a {{inputs.t}}' as t" };

    for (const reached of [datasource, byString]) {
      await reached.test();
      const { data, rowCount, columns } = await reached.execute(query, { n: 1, t: "'" });
      expect(data).toEqual([{ n: '2', t: "a '" }]);
      expect(rowCount).toBe(1);
      expect(columns?.map(({ name }) => name)).toEqual(['n', 't']);
    }
  });

  describe('a failed connection is reported without any secret', () => {
    async function failure(changes: JsonObject, outbound?: ReturnType<typeof createOutbound>) {
      await using broken = await open({ password: secret, ...changes }, outbound);
      const error = await broken.test().catch((thrown: unknown) => thrown);
      expect(JSON.stringify([error, String(error)])).not.toContain(secret);
      return error;
    }

    test.each([
      ['a wrong password', {}, 'authentication'],
      ['an unknown host', { host: 'no-such-host.invalid' }, 'unreachable'],
      ['a closed port', { port: 1 }, 'unreachable'],
    ])('%s', async (_what, changes, reason) => {
      expect(await failure(changes)).toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason } });
    });

    test('an unknown database', async () => {
      expect(await failure({ database: 'nowhere', password: server.password })).toMatchObject({
        details: { reason: 'not-found' },
      });
    });

    test('a server that never answers', async () => {
      await using silent = await startTCP();

      const began = performance.now();
      expect(await failure({ port: silent.port, additionalOptions: { connectTimeout: 1_000 } })).toMatchObject({
        code: 'UPSTREAM_TIMEOUT',
        details: { reason: 'timeout' },
      });
      expect(performance.now() - began).toBeLessThan(9_000);
    });

    test.each(['HTTP/1.1 400 Bad Request\r\n\r\n', '\u0001\0\0\0\n', '\u0001\0\0\0\u00ff', ''])(
      'a server that is not a database: %j',
      async (greeting) => {
        await using other = await startTCP((socket) => socket.end(Buffer.from(greeting, 'latin1')));

        expect(await failure({ port: other.port })).toMatchObject({ code: 'UPSTREAM_FAILED' });
      },
    );

    test('an address that is not allowed', async () => {
      const outbound = createOutbound({ allow: [] });

      for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1', '2130706433', '169.254.169.254'])
        expect(await failure({ host }, outbound)).toMatchObject({ details: { reason: 'not-allowed' } });
    });

    test('a connection string with options of the driver', async () => {
      const opening = openDatasource(mysql, {
        connectionOption: 'connectionString',
        connectionString: `mysql://u:${secret}@h/d?flags=LOCAL_FILES`,
      });

      await expect(opening).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
      await expect(opening).rejects.not.toThrow(secret);
    });
  });

  describe('values', () => {
    test.each<[string, Json]>([
      ['cast(9223372036854775807 as signed)', '9223372036854775807'],
      ['cast(18446744073709551615 as unsigned)', '18446744073709551615'],
      ['cast(12345678901234567890123456789.123456789 as decimal(40, 9))', '12345678901234567890123456789.123456789'],
      ['1e300', 1e300],
      ['null', null],
      ["date '2024-02-29'", '2024-02-29'],
      ["timestamp '2024-02-29 12:34:56.789012'", '2024-02-29T12:34:56.789012'],
      ["time '-123:45:06'", '-123:45:06'],
      ["x'00ff10'", 'AP8Q'],
      ["b'101'", 'BQ=='],
      ["_utf8mb4'€ 𝄞'", '€ 𝄞'],
      ['\'{"a": 1}\'', '{"a": 1}'],
    ])('select %s', async (expression, value) => {
      expect(await single(`select ${expression} as v`)).toEqual(value);
    });

    test('columns of every kind', async () => {
      await datasource.execute({
        query: `create table kinds (t tinyint, u int unsigned, f float, d double, b bit(10), y year, at timestamp(3) null,
                  local datetime, j json, blobby blob, bytes varbinary(4), txt text, e enum('x', 'y'), s set('p', 'q'), id uuid)`,
      });
      await datasource.execute({
        query: `insert into kinds values (-1, 4294967295, 0.1, 0.1, 5, 2024, '2024-02-29 12:00:00.5', '2024-02-29 12:00:00',
                  '{"n": 12345678901234567890, "l": [1, null]}', x'00ff', 'ab', 'tä', 'y', 'p,q',
                  '6f9619ff-8b86-d011-b42d-00c04fc964ff')`,
      });

      const { data, columns } = await datasource.execute({ query: 'select * from kinds' });

      expect(data).toEqual([
        {
          t: -1,
          u: 4294967295,
          f: 0.1,
          d: 0.1,
          b: 5,
          y: 2024,
          at: '2024-02-29T12:00:00.500Z',
          local: '2024-02-29T12:00:00',
          j: { n: '12345678901234567890', l: [1, null] },
          blobby: 'AP8=',
          bytes: 'YWI=',
          txt: 'tä',
          e: 'y',
          s: 'p,q',
          id: '6f9619ff-8b86-d011-b42d-00c04fc964ff',
        },
      ]);
      const types = Object.fromEntries((columns ?? []).map(({ name, type }) => [name, type]));
      expect(types).toMatchObject({ t: 'tinyint', u: 'int unsigned', at: 'timestamp', j: 'json', blobby: 'blob' });
      expect(types).toMatchObject({ txt: 'text', e: 'enum', s: 'set', id: 'uuid', bytes: 'varbinary' });
    });

    test("a statement over the server's time limit is a timeout", async () => {
      const query = 'set statement max_statement_time = 0.1 for select sleep(5)';
      await expect(datasource.execute({ query })).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    });

    test('values for columns of every kind', async () => {
      await datasource.execute({
        query: `create table taken (b bigint, n decimal(20, 4), t text, flag boolean, at timestamp null, j json, d double)`,
      });
      await datasource.execute(
        {
          query: `insert into taken values ({{inputs.b}}, {{inputs.n}}, {{inputs.t}}, {{inputs.flag}}, {{inputs.at}}, {{inputs.j}}, {{inputs.d}})`,
        },
        {
          b: '9223372036854775807',
          n: '1234567890123456.7891',
          t: 5,
          flag: true,
          at: '2024-01-01 00:00:00',
          j: [1, { a: null }],
          d: 0.1,
        },
      );

      const { data } = await datasource.execute(
        { query: 'select * from taken where b = {{inputs.b}} and d = {{inputs.d}}' },
        { b: '9223372036854775807', d: 0.1 },
      );

      expect(data).toEqual([
        {
          b: '9223372036854775807',
          n: '1234567890123456.7891',
          t: '5',
          flag: 1,
          at: '2024-01-01T00:00:00Z',
          j: [1, { a: null }],
          d: 0.1,
        },
      ]);
    });

    test.each<[string, string, Json]>([
      ['bit(1)', "b'0'", 0],
      ['bit(1)', "b'1'", 1],
      ['bit(10)', "b'1000000101'", 517],
      ['bit(64)', '9007199254740991', 9007199254740991],
      ['bit(64)', '18446744073709551615', '18446744073709551615'],
      ['datetime', "'2024-02-29 12:00:00'", '2024-02-29T12:00:00'],
    ])('a value of a column %s (%s) goes back as it was read', async (type, stored, value) => {
      await datasource.execute({ query: 'drop table if exists rounds' });
      await datasource.execute({ query: `create table rounds (id int primary key, v ${type})` });
      await datasource.execute({ query: `insert into rounds values (1, ${stored}), (2, null)` });
      const read = await single('select v from rounds where id = 1');
      expect(read).toEqual(value);

      // A text of digits is a number only where the statement says so.
      const given = typeof value === 'string' && type === 'bit(64)' ? 'cast({{inputs.v}} as unsigned)' : '{{inputs.v}}';
      await datasource.execute({ query: `update rounds set v = ${given} where id = 2` }, { v: read as Json });

      expect(await single('select count(*) = 2 from rounds where v = (select v from rounds where id = 1)')).toBe(1);
    });

    test('LIMIT and OFFSET accept values, and so does in (…)', async () => {
      const { data } = await datasource.execute(
        {
          query:
            'select seq as n from seq_1_to_9 where seq not in ({{inputs.not}}) limit {{inputs.n}} offset {{inputs.from}}',
        },
        { not: [2, 3], n: 2, from: 1 },
      );

      expect(data).toEqual([{ n: '4' }, { n: '5' }]);
    });

    test('columns of one name are all returned', async () => {
      const { data } = await datasource.execute({ query: 'select 1 as id, 2 as id, 3 as `__proto__`' });

      expect(JSON.stringify(data)).toBe('[{"id":1,"id_2":2,"__proto__":3}]');
    });

    test('values never become SQL', async () => {
      const attempts = [
        "'; drop table t; -- ",
        '\\',
        "\\' or 1=1 #",
        '?',
        '{{inputs.x}}',
        '/*',
        "\u2019'",
        'a\0b',
        '¿\\',
      ];
      for (const text of attempts) {
        expect(await single('select {{inputs.t}} as v', { t: text })).toBe(text);
        expect(await single("select 'a {{inputs.t}} b' as v", { t: text })).toBe(`a ${text} b`);
      }
    });
  });

  describe('statements', () => {
    test('a writing statement returns its number of affected rows', async () => {
      await datasource.execute({ query: 'create table written (id int primary key, t text)' });

      const inserted = await datasource.execute({ query: "insert into written select seq, 'x' from seq_1_to_5" });
      const updated = await datasource.execute({ query: "update written set t = 'x' where id < 3" });

      expect(inserted).toEqual({ data: [], affectedRows: 5 });
      expect(updated).toEqual({ data: [], affectedRows: 2 });
    });

    test('a dry run has the server refuse what a statement would change', async () => {
      await datasource.execute({ query: 'create table kept (id int primary key)' });
      await datasource.execute({ query: 'create procedure fill_kept() insert into kept values (1)' });
      await datasource.execute({
        query:
          'create function kept_next() returns int modifies sql data begin insert into kept values (1); return 1; end',
      });

      for (const query of ['insert into kept values (2)', 'call fill_kept()', 'select kept_next()'])
        await expect(datasource.execute({ query }, {}, { isDryRun: true })).rejects.toMatchObject({ write: query });
      const { data } = await datasource.execute({ query: 'select count(*) as n from kept' }, {}, { isDryRun: true });
      const after = await datasource.execute({ query: 'insert into kept values (3)' });

      expect(data).toEqual([{ n: '0' }]);
      expect(after).toMatchObject({ affectedRows: 1 });
    });

    test('an error has its code and line', async () => {
      await expect(datasource.execute({ query: 'select 1\nfrom nowhere' })).rejects.toMatchObject({
        code: 'DB_ERROR',
        message: "Table 'gantry.nowhere' doesn't exist",
        details: { errno: 1146, sqlState: '42S02' },
      });
      await expect(datasource.execute({ query: 'select 1\nfrom from' })).rejects.toMatchObject({
        details: { line: 2 },
      });
      await expect(datasource.execute({ query: "insert into written values (1, 'twice')" })).rejects.toMatchObject({
        details: { errno: 1062, sqlState: '23000' },
      });
    });

    test('several in one query are refused', async () => {
      await expect(datasource.execute({ query: 'select 1; select 2' })).rejects.toMatchObject({ code: 'DB_ERROR' });
      expect(await single('select 1')).toBe(1);
    });

    test('one that cannot be prepared is executed, and a procedure returns its rows', async () => {
      await datasource.execute({
        query: 'create procedure answers() begin select 1 as a; select 2 as b; update written set t = null; end',
      });

      const { data } = await datasource.execute({ query: 'call answers()' });

      expect(data).toEqual([{ a: 1 }]);
    });

    test('more values than the protocol allows are refused', async () => {
      const ids = Array.from({ length: 70_000 }, (_, index) => index);

      await expect(
        datasource.execute({ query: 'select 1 where 1 in ({{inputs.ids}})' }, { ids }),
      ).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
    });

    test('LOAD DATA LOCAL reads no file of the worker', async () => {
      await datasource.execute({ query: 'create table stolen (line text)' });

      await expect(
        datasource.execute({ query: "load data local infile '/etc/passwd' into table stolen" }),
      ).rejects.toMatchObject({ code: 'DB_ERROR' });
      expect(await single('select count(*) from stolen')).toBe('0');
    });

    test('a server that requests a file instead of answering gets none', async () => {
      const said: Buffer[] = [];
      await using thief = await startTCP((socket) => {
        socket.write(greeting);
        let messages = 0;
        socket.on('data', (data) => {
          said.push(Buffer.from(data));
          messages += 1;
          // The first message is the login, the second the first query.
          if (messages === 1) socket.write(packet(2, accepted));
          if (messages === 2) socket.write(packet(1, fileWanted));
          if (messages === 3) socket.end();
        });
      });
      await using fooled = await open({ port: thief.port, password: '' });

      await expect(fooled.test()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

      expect(said).toHaveLength(3);
      expect(Buffer.concat(said).toString('latin1')).not.toContain('root:');
    });
  });

  test('no state of a query on its connection reaches the next query', async () => {
    const poisons = [
      'start transaction',
      "set time_zone = '+09:00'",
      'set @left_behind = 1',
      'create temporary table left_behind (id int)',
      "do get_lock('left_behind', 0)",
      'set autocommit = 0',
      'use mysql',
      'set names latin1',
      "set sql_mode = 'ANSI_QUOTES'",
    ];
    for (const query of poisons) {
      await datasource.execute({ query }).catch((error: unknown) => expect(error).toMatchObject({ code: 'DB_ERROR' }));
      // The answer does not wait for the reset of the connection, and another one sees its locks until then.
      await eventually(async () => {
        const { data } = await datasource.execute({
          query: `select from_unixtime(0) as epoch, @left_behind as variable, is_free_lock('left_behind') as free,
                         @@autocommit = 1 as auto, "text" as quoted, '€' as euro, @@in_transaction = 1 as open, database() as here`,
        });
        expect(data, query).toMatchObject([
          {
            epoch: '1970-01-01T00:00:00',
            variable: null,
            free: 1,
            auto: 1,
            quoted: 'text',
            euro: '€',
            open: 0,
            here: 'gantry',
          },
        ]);
      });
      await expect(datasource.execute({ query: 'select * from left_behind' })).rejects.toMatchObject({
        code: 'DB_ERROR',
      });
    }
  });

  describe('large answers', () => {
    test('rows beyond the requested number are not read', async () => {
      const { data, truncated } = await datasource.execute(
        { query: 'select seq as n from seq_1_to_100000000' },
        {},
        { maxRows: 2 },
      );

      expect({ data, truncated }).toEqual({ data: [{ n: '1' }, { n: '2' }], truncated: true });
      await eventually(async () => expect(await working('seq_1_to_100000000')).toBe(0));
    });

    test('exactly the requested number of rows is not truncated', async () => {
      const { data, truncated } = await datasource.execute(
        { query: 'select seq from seq_1_to_250' },
        {},
        { maxRows: 250 },
      );

      expect(data).toHaveLength(250);
      expect(truncated).toBeUndefined();
    });

    test('many rows are streamed in constant memory', async () => {
      const query = "select seq as n, repeat('x', 1000) as t from seq_1_to_250000";
      const before = process.memoryUsage();
      let most = 0;
      let sum = 0;
      const onRows = async (rows: JsonObject[]) => {
        for (const { n } of rows) sum += Number(n);
        const { heapUsed, arrayBuffers } = process.memoryUsage();
        most = Math.max(most, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers);
        await setImmediate();
      };

      const signal = AbortSignal.timeout(60_000);
      const { data, rowCount } = await datasource.execute({ query }, {}, { maxRows: 250_000, signal, onRows });

      expect({ data, rowCount, sum }).toEqual({ data: [], rowCount: 250_000, sum: 31_250_125_000 });
      expect(most).toBeLessThan(100 * 1024 * 1024);
    });

    test('a consumer that fails ends the query with its error', async () => {
      let taken = 0;
      const onRows = async (rows: JsonObject[]) => {
        taken += rows.length;
        throw new AppError('INTERNAL_ERROR', 'The disk is full');
      };

      const query = 'select seq from seq_1_to_100000000';
      await expect(datasource.execute({ query }, {}, { maxRows: 1_000_000, onRows })).rejects.toThrow(
        'The disk is full',
      );
      expect(taken).toBeLessThan(10_000);
      await eventually(async () => expect(await working('seq_1_to_100000000')).toBe(0));
      expect((await datasource.execute({ query: 'select 1 as n' })).data).toEqual([{ n: 1 }]);
    });

    test('the requested number of rows is streamed, whether or not more follow', async () => {
      for (const [rows, truncated] of [
        [2_500, true],
        [5_000, undefined],
      ] as const) {
        let taken = 0;
        const onRows = async (batch: JsonObject[]) => {
          taken += batch.length;
        };
        const result = await datasource.execute(
          { query: 'select seq from seq_1_to_5000' },
          {},
          { maxRows: rows, onRows },
        );
        expect({ taken, ...result }).toMatchObject({ taken: rows, rowCount: rows, data: [] });
        expect(result.truncated).toBe(truncated);
      }
    });
  });

  /** Number of running queries at the server with this text in them. */
  async function working(mark: string): Promise<number> {
    const { data } = await watcher.execute(
      {
        query:
          "select count(*) as n from information_schema.processlist where command <> 'Sleep' and id <> connection_id() and info like {{inputs.mark}}",
      },
      { mark: `%${mark}%` },
    );
    return Number((data as { n: string }[])[0]?.n);
  }

  describe('an early end', () => {
    test.each([
      ['the time limit is over', () => AbortSignal.timeout(400)],
      ['the caller aborts', () => cancelledIn(400)],
    ])('when %s, the query ends at the server', async (_why, signal) => {
      const mark = newID();
      const answer = datasource.execute({ query: `select sleep(60) as '${mark}'` }, {}, { signal: signal() });
      answer.catch(() => undefined);
      await eventually(async () => expect(await working(mark)).toBe(1));

      await expect(answer).rejects.toThrow();
      await eventually(async () => expect(await working(mark)).toBe(0));
      expect(await single('select 1')).toBe(1);
    });

    test('many concurrent queries share a few connections', async () => {
      const many = Array.from({ length: 20 }, (_, n) => single(`select ${n}`));

      expect(await Promise.all(many)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    });
  });

  test('the structure of the database can be browsed', async () => {
    await datasource.execute({
      query: "create table customer (id bigint primary key, name varchar(40) not null default 'nobody', note text)",
    });
    await datasource.execute({
      query:
        'create table `Odd ``name` (customer_id bigint unique, foreign key (customer_id) references customer (id))',
    });
    await datasource.execute({ query: 'create view names as select name from customer' });
    const { browse } = datasource.connection;
    const signal = AbortSignal.timeout(10_000);

    const databases = await browse?.([], signal);
    const tables = await browse?.(['gantry'], signal);
    const columns = await browse?.(['gantry', 'customer'], signal);
    const odd = await browse?.(['gantry', 'Odd `name'], signal);

    expect(databases).toContainEqual({ name: 'gantry', kind: 'database', isContainer: true });
    expect(tables?.map(({ name, kind }) => [name, kind])).toEqual(
      expect.arrayContaining([
        ['Odd `name', 'table'],
        ['customer', 'table'],
        ['names', 'view'],
      ]),
    );
    expect(
      columns?.map(({ name, type, details: about }) => [name, type, about?.isNullable, about?.isPrimaryKey]),
    ).toEqual([
      ['id', 'bigint(20)', false, true],
      ['name', 'varchar(40)', false, false],
      ['note', 'text', true, false],
    ]);
    expect(odd?.[0]?.details).toMatchObject({
      isUnique: true,
      references: { schema: 'gantry', table: 'customer', column: 'id' },
    });
    await expect(browse?.(["' or 1=1 -- "], signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(browse?.(['gantry', 'nothing'], signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('a query is explained without being run', async () => {
    const { explain } = datasource.connection;
    const run = { signal: AbortSignal.timeout(10_000), maxRows: 10, idempotencyKey: null };
    const bound = (...texts: string[]) => ({
      query: { queryType: 'query' as const, query: '' },
      statement: { texts, values: texts.slice(1).map(() => 5) },
    });

    expect(await explain?.(bound('select * from seq_1_to_9 where seq < ', ''), run)).toMatchObject({
      query_block: expect.anything(),
    });
    for (const sql of ['analyze select 1', 'create table explained (id int)'])
      await expect(explain?.(bound(sql), run)).rejects.toMatchObject({ code: 'DB_ERROR' });
  });

  describe('TLS', () => {
    const isEncrypted = { query: "show session status like 'Ssl_version'" };

    test.each([
      ['off', { ssl: false }, ''],
      ['verified', { ssl: true, caCertificate: certificates.authority }, 'TLSv1.3'],
      ['without verification', { ssl: true, sslVerify: false, host: '127.0.0.1' }, 'TLSv1.3'],
    ])('%s', async (_how, changes, version) => {
      await using encrypted = await open(changes);

      expect((await encrypted.execute(isEncrypted)).data).toEqual([{ Variable_name: 'Ssl_version', Value: version }]);
    });

    test.each([
      ['an unknown authority', { caCertificate: '' }],
      ['another authority', { caCertificate: certificates.otherAuthority }],
      ['no certificate at all', { caCertificate: 'none' }],
    ])('%s is refused', async (_what, changes) => {
      await using encrypted = await open({ ssl: true, ...changes });

      await expect(encrypted.test()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'tls' } });
    });

    test('a certificate cannot be verified for an address', async () => {
      await expect(open({ ssl: true, host: '127.0.0.1' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    });

    test('a kill is sent encrypted, too', async () => {
      await using encrypted = await open({ ssl: true, caCertificate: certificates.authority });
      const mark = newID();

      await expect(
        encrypted.execute({ query: `select sleep(60) as '${mark}'` }, {}, { signal: AbortSignal.timeout(400) }),
      ).rejects.toThrow();

      await eventually(async () => expect(await working(mark)).toBe(0));
    });
  });

  test('a restart of the server fails only queries in progress', async () => {
    await using mending = await open({});
    await mending.execute({ query: 'select 1' });
    const lost = mending.execute({ query: 'select sleep(30)' }, {}, { signal: AbortSignal.timeout(25_000) });
    const caught = expect(lost).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'lost' } });
    await eventually(async () => expect(await working('select sleep(30)')).toBe(1));

    await server.kill9();
    await caught;
    await expect(mending.test()).rejects.toMatchObject({ details: { reason: 'unreachable' } });
    await server.restart();

    expect((await mending.execute({ query: 'select 1 as n' })).data).toEqual([{ n: 1 }]);
  });
});

function cancelledIn(ms: number): AbortSignal {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), ms);
  return stop.signal;
}

function packet(sequence: number, body: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(body.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, body]);
}

const accepted = Buffer.from([0, 0, 0, 2, 0, 0, 0]);
const fileWanted = Buffer.from('\u00fb/etc/passwd', 'latin1');
/** Greeting of protocol version 10: server, connection id, a challenge in two parts, capabilities. */
const greeting = packet(
  0,
  Buffer.concat([
    Buffer.from('\n8.0.36\0', 'latin1'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('12345678\0'),
    Buffer.from([0xff, 0xf7, 45, 2, 0, 0xff, 0x01, 21]),
    Buffer.alloc(10),
    Buffer.from('123456789012\0mysql_native_password\0'),
  ]),
);
