import { existsSync, readdirSync, statSync } from 'node:fs';
import { crc32, deflateRawSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import writeExcelFile from 'write-excel-file/node';
import { excelcsv } from '#shared/datasources/excelcsv.ts';
import type { JsonObject } from '#shared/json.ts';
import { aTenant } from '#test/support/factories.ts';
import { type FileWorld, startFileWorld } from '#test/support/tenant-files.ts';

let world: FileWorld;
beforeAll(async () => {
  world = await startFileWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function read(name: string, bytes: Buffer | string, query: JsonObject = {}, inputs: JsonObject = {}) {
  await using datasource = await world.open(excelcsv, { fileInfo: await world.upload(name, bytes) });
  return await datasource.execute(query, inputs, { signal: AbortSignal.timeout(60_000) });
}

async function aWorkbook(rows: unknown[][], sheet = 'Orders'): Promise<Buffer> {
  const data = rows.map((row) => row.map((value) => (value === null ? null : { value, ...formatOf(value) })));
  return (await writeExcelFile(data as never, { sheet } as never).toBuffer()) as Buffer;
}

function formatOf(value: unknown) {
  return value instanceof Date ? { type: Date, format: 'yyyy-mm-dd hh:mm' } : {};
}

describe('CSV', () => {
  test('cells have the type that all of their column have', async () => {
    const text = [
      'id,code,price,big,paid,on,note',
      '1,007,1.50,9007199254740993,true,2026-01-31,"a, ""b""\nc"',
      '-2,12,1e3,1,FALSE,2026-02-01T10:00:00+02:00,',
    ].join('\r\n');

    const { data, columns, rowCount, truncated } = await read('a.csv', `\uFEFF${text}`);

    expect(data).toEqual([
      {
        id: 1,
        code: '007',
        price: 1.5,
        big: '9007199254740993',
        paid: true,
        on: '2026-01-31',
        note: 'a, "b"\nc',
      },
      { id: -2, code: '12', price: 1000, big: 1, paid: false, on: '2026-02-01T10:00:00+02:00', note: null },
    ]);
    expect(columns?.map(({ type }) => type)).toEqual(['number', 'text', 'number', 'number', 'boolean', 'date', 'text']);
    expect({ rowCount, truncated }).toEqual({ rowCount: 2, truncated: false });
  });

  test.each([
    ['semicolons', 'a.csv', Buffer.from('a;b\n1,5;"x;y"\n')],
    ['tabs', 'a.tsv', Buffer.from('a\tb\n1,5\tx;y\n')],
    ['UTF-16', 'a.csv', Buffer.from('\uFEFFa;b\n1,5;"x;y"\n', 'utf16le')],
  ])('%s are found out', async (_what, name, bytes) => {
    expect((await read(name, bytes)).data).toEqual([{ a: '1,5', b: 'x;y' }]);
  });

  test('an old encoding of Windows is read', async () => {
    expect((await read('a.csv', Buffer.from('name\nM\xfcller \x80\n', 'latin1'))).data).toEqual([{ name: 'Müller €' }]);
  });

  test('header, range and limit cut out a part, and values of a run may say which', async () => {
    const text = 'title\n\nx,id,id,\ny,1,2,3\nz,4,5,6\nz,7,8,9\n';

    const { data, truncated } = await read(
      'a.csv',
      text,
      { range: 'B3:D', headerRow: '{{inputs.header}}', limit: '{{inputs.limit}}' },
      { header: 1, limit: 2 },
    );

    expect(data).toEqual([
      { id: 1, id_2: 2, D: 3 },
      { id: 4, id_2: 5, D: 6 },
    ]);
    expect(truncated).toBe(true);
  });

  test('without a header row columns have letters', async () => {
    expect((await read('a.csv', '1,2\n3,4\n', { headerRow: 0 })).data).toEqual([
      { A: 1, B: 2 },
      { A: 3, B: 4 },
    ]);
  });

  test('a column may have any name', async () => {
    const { data } = await read('a.csv', '__proto__,constructor\n1,2\n');

    expect(JSON.stringify(data)).toBe('[{"__proto__":1,"constructor":2}]');
  });

  test('of a file of a million rows no more is read than is wanted', async () => {
    const text = `n\n${'1234567\n'.repeat(1_000_000)}`;
    await using datasource = await world.open(excelcsv, { fileInfo: await world.upload('a.csv', text) });
    await datasource.execute({});
    const before = process.memoryUsage.rss();

    const { rowCount, truncated } = await datasource.execute({ limit: 100_000 }, {}, { maxRows: 5_000 });

    expect({ rowCount, truncated }).toEqual({ rowCount: 5_000, truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  });

  test('a quote that is never closed is said to be one', async () => {
    await expect(read('a.csv', 'a,b\n1,"2\n')).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('CSV'),
    });
  });
});

describe('Excel', () => {
  test('values have their types, and times no zone', async () => {
    const workbook = await aWorkbook([
      ['name', 'n', 'paid', 'at', 'none'],
      ['ü & <b>', 1.5, true, new Date('2026-01-31T10:30:00Z'), null],
      ['y', 3, false, new Date('2026-02-01T00:00:00Z'), 'x'],
    ]);

    const { data, columns } = await read('a.xlsx', workbook, { sheetName: 'Orders' });

    expect(data).toEqual([
      { name: 'ü & <b>', n: 1.5, paid: true, at: '2026-01-31T10:30:00', none: null },
      { name: 'y', n: 3, paid: false, at: '2026-02-01', none: 'x' },
    ]);
    expect(columns?.map(({ type }) => type)).toEqual(['text', 'number', 'boolean', 'date', 'text']);
  });

  test('a sheet that is not there is named', async () => {
    await expect(read('a.xlsx', await aWorkbook([['a']]), { sheetName: 'Nope' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: 'sheetName: there is no sheet "Nope"',
    });
  });

  test('of a formula there is what it had come to', async () => {
    const { data } = await read('a.xlsx', aMinimalWorkbook('<c r="A2"><f>1+1</f><v>2</v></c>'));

    expect(data).toEqual([{ a: 2 }]);
  });

  test('digits that a double cannot hold are kept', async () => {
    const { data } = await read('a.xlsx', aMinimalWorkbook('<c r="A2"><v>9007199254740993</v></c>'));

    expect(data).toEqual([{ a: '9007199254740993' }]);
  });

  test('a workbook that unpacks to very much is not unpacked', async () => {
    const bomb = aZip('xl/workbook.xml', Buffer.alloc(10), { declared: 151 * 1024 * 1024 });

    await expect(read('bomb.xlsx', bomb)).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('150 MB'),
    });
  });

  test('one that lies about its size is stopped by the memory it takes', async () => {
    const bomb = aZip('xl/workbook.xml', Buffer.alloc(1024 * 1024 * 1024), { declared: 1_000 });
    const before = process.memoryUsage.rss();

    await expect(read('bomb.xlsx', bomb)).rejects.toMatchObject({ code: 'DB_ERROR' });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    // Whoever comes next has another reader.
    expect((await read('a.csv', 'a\n1\n')).data).toEqual([{ a: 1 }]);
  }, 120_000);

  test('an archive that is none is no workbook', async () => {
    const broken = Buffer.concat([Buffer.from('PK\x03\x04 xl/workbook.xml'), Buffer.alloc(100)]);

    await expect(read('a.xlsx', broken)).rejects.toMatchObject({ code: 'DB_ERROR' });
  });
});

test("another tenant's file is not there, nor is one that was deleted", async () => {
  const { cluster, tenant } = world;
  const file = await world.upload('a.csv', 'a\n1\n');
  await using own = await world.open(excelcsv, { fileInfo: file });
  await using other = await world.open(excelcsv, { fileInfo: file }, await aTenant(cluster));
  await own.test();

  await expect(other.execute({})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await cluster.as(tenant.creator).in(tenant).delete(`T/datasources/files/${file.fileID}`);
  await expect(own.execute({})).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a path that is no uploaded file is refused before anything is read', async () => {
  for (const filePath of ['/etc/passwd', 'tenant-files/../../etc/passwd', '../a.csv'])
    await expect(world.open(excelcsv, { fileInfo: { filePath } })).rejects.toThrow('must be the filePath');
});

test('the folder of a worker is its own and goes with it', async () => {
  const another = await startFileWorld();
  const { folder } = another.files;
  await using datasource = await another.open(excelcsv, { fileInfo: await another.upload('a.csv', 'a\n1\n') });
  await datasource.execute({});
  expect(readdirSync(folder)).toHaveLength(1);
  expect(statSync(folder).mode & 0o777).toBe(0o700);

  await another[Symbol.asyncDispose]();

  expect(existsSync(folder)).toBe(false);
});

/** With one entry, whose size the archive says to be another than it is. */
function aZip(name: string, bytes: Buffer, { declared }: { declared: number }): Buffer {
  const packed = deflateRawSync(bytes, { level: 9 });
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(crc32(bytes), 0);
  sizes.writeUInt32LE(packed.length, 4);
  sizes.writeUInt32LE(declared, 8);
  const lengths = Buffer.from([name.length, 0, 0, 0]);
  const version = Buffer.from([20, 0, 0, 0, 8, 0, 0, 0, 33, 0]);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), version, sizes, lengths, Buffer.from(name), packed]);
  const more = Buffer.alloc(14);
  const central = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), version, sizes, lengths, more, Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

function aMinimalWorkbook(cell: string): Buffer {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const rel = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const pack = 'http://schemas.openxmlformats.org/package/2006/relationships';
  const parts = {
    '_rels/.rels': `<Relationships xmlns="${pack}"><Relationship Id="r" Type="${rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${rel}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${pack}"><Relationship Id="rId1" Type="${rel}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}"><dimension ref="A1:A2"/><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2">${cell}</row></sheetData></worksheet>`,
  };
  const encoder = new TextEncoder();
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, encoder.encode(text)]))),
  );
}

describe('looking through', () => {
  async function browse(name: string, bytes: Buffer | string, ...path: string[]) {
    await using datasource = await world.open(excelcsv, { fileInfo: await world.upload(name, bytes) });
    return await datasource.connection.browse?.(path, AbortSignal.timeout(60_000));
  }

  test('a workbook has sheets, and each has columns', async () => {
    const bytes = await aWorkbook([
      ['id', 'note'],
      [1, 'x'],
    ]);

    expect(await browse('a.xlsx', bytes)).toEqual([{ name: 'Orders', kind: 'sheet', isContainer: true }]);
    expect(await browse('a.xlsx', bytes, 'Orders')).toMatchObject([
      { name: 'id', kind: 'column', isContainer: false },
      { name: 'note', kind: 'column', isContainer: false },
    ]);
    await expect(browse('a.xlsx', bytes, 'Other')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(browse('a.xlsx', bytes, 'Orders', 'id')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('a CSV file has columns', async () => {
    expect(await browse('a.csv', 'id,note\n1,x\n')).toMatchObject([{ name: 'id' }, { name: 'note' }]);
    await expect(browse('a.csv', 'id,note\n1,x\n', 'id')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
