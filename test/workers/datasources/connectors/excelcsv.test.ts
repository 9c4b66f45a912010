import { existsSync, readdirSync, statSync } from 'node:fs';
import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import writeExcelFile from 'write-excel-file/node';
import type { JsonObject } from '#shared/core/json.ts';
import { excelcsv } from '#shared/datasources/types/excelcsv.ts';
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
  test('cells have the common type of their column', async () => {
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

  test('numbers that a double cannot hold keep their digits', async () => {
    const numbers = ['1.5', '12345678901234567890', '0.1234567890123456789', '1e-400', '4.91e-324', '1e400', '0.00'];
    const { data } = await read('a.csv', ['n', ...numbers].join('\n'));

    expect((data as { n: unknown }[]).map(({ n }) => n)).toEqual([1.5, ...numbers.slice(1, 6), 0]);
  });

  test.each([
    ['semicolons', 'a.csv', Buffer.from('a;b\n1,5;"x;y"\n')],
    ['tabs', 'a.tsv', Buffer.from('a\tb\n1,5\tx;y\n')],
    ['UTF-16', 'a.csv', Buffer.from('\uFEFFa;b\n1,5;"x;y"\n', 'utf16le')],
  ])('%s are detected', async (_what, name, bytes) => {
    expect((await read(name, bytes)).data).toEqual([{ a: '1,5', b: 'x;y' }]);
  });

  test('a file in Windows-1252 is decoded', async () => {
    expect((await read('a.csv', Buffer.from('name\nM\xfcller \x80\n', 'latin1'))).data).toEqual([{ name: 'Müller €' }]);
  });

  test('header, range and limit select a part, and may be given by values of a run', async () => {
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

  test('without a header row, columns are named by letters', async () => {
    expect((await read('a.csv', '1,2\n3,4\n', { headerRow: 0 })).data).toEqual([
      { A: 1, B: 2 },
      { A: 3, B: 4 },
    ]);
  });

  test('a column may have any name', async () => {
    const { data } = await read('a.csv', '__proto__,constructor\n1,2\n');

    expect(JSON.stringify(data)).toBe('[{"__proto__":1,"constructor":2}]');
  });

  test('of a million rows only the requested ones are read', async () => {
    const text = `n\n${'1234567\n'.repeat(1_000_000)}`;
    await using datasource = await world.open(excelcsv, { fileInfo: await world.upload('a.csv', text) });
    await datasource.execute({});
    const before = process.memoryUsage.rss();

    const { rowCount, truncated } = await datasource.execute({ limit: 100_000 }, {}, { maxRows: 5_000 });

    expect({ rowCount, truncated }).toEqual({ rowCount: 5_000, truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  });

  test('an unclosed quote is an error that says so', async () => {
    await expect(read('a.csv', 'a,b\n1,"2\n')).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('CSV'),
    });
  });
});

describe('Excel', () => {
  test('values have their types, and times have no zone', async () => {
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

  test('an unknown sheet is named in the error', async () => {
    await expect(read('a.xlsx', await aWorkbook([['a']]), { sheetName: 'Nope' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: 'sheetName: there is no sheet "Nope"',
    });
  });

  test('a formula has its stored result', async () => {
    const { data } = await read('a.xlsx', aMinimalWorkbook('<c r="A2"><f>1+1</f><v>2</v></c>'));

    expect(data).toEqual([{ a: 2 }]);
  });

  test('a cell with an error has no value', async () => {
    const cells = '<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="B2" t="e"><v>#N/A</v></c><c r="C2"><v>1</v></c>';

    expect((await read('a.xlsx', aMinimalWorkbook(cells))).data).toEqual([{ a: null, B: null, C: 1 }]);
  });

  test('integers that a double cannot hold keep their digits', async () => {
    const cells = [
      '<c r="A2"><v>9007199254740993</v></c>',
      '<c r="B2" s="0"><f>A2</f><v>-123456789012345678901</v></c>',
      '<c r="C2"><v>1234567890123456</v></c>',
      '<c r="D2"><v>1.5E+300</v></c>',
    ];

    const { data } = await read('a.xlsx', aMinimalWorkbook(cells.join('')));

    expect(data).toEqual([{ a: '9007199254740993', B: '-123456789012345678901', C: 1234567890123456, D: '1.5e+300' }]);
  });

  test.each([
    ['the first day', '', 1, '1900-01-01'],
    ['the day before the one that 1900 did not have', '', 59, '1900-02-28'],
    ['the day after it', '', 61, '1900-03-01'],
    ['a second', '', 46053.43767361111, '2026-01-31T10:30:15'],
    ['a millisecond', '', 46053.437675034722, '2026-01-31T10:30:15.123'],
    ['a day counted from 1904', '<workbookPr date1904="1"/>', 44591, '2026-01-31'],
    ['a day counted from 1904 by LibreOffice', '<workbookPr date1904="true"/>', 44591, '2026-01-31'],
  ])('%s is formatted as the workbook shows it', async (_what, properties, serial, shown) => {
    const workbook = aMinimalWorkbook(`<c r="A2" s="1"><v>${serial}</v></c>`, { properties });

    expect((await read('a.xlsx', workbook)).data).toEqual([{ a: shown }]);
  });

  describe('a time or a duration is a text', () => {
    const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
    const formatted = (cells: string, code: string, properties = '') => {
      const styles = code.startsWith('<xf')
        ? `<styleSheet xmlns="${main}"><cellXfs><xf numFmtId="0"/>${code}</cellXfs></styleSheet>`
        : `<styleSheet xmlns="${main}"><numFmts><numFmt numFmtId="170" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"><alignment/></xf></cellXfs></styleSheet>`;
      return aMinimalWorkbook(cells, { properties, replaced: { 'xl/styles.xml': Buffer.from(styles) } });
    };

    test.each([
      ['[h]:mm:ss', 1.0625, '25:30:00'],
      ['[h]:mm', 60.5, '1452:00:00'],
      ['[mm]:ss', 4000.25, '96006:00:00'],
      ['[ss].000', 0.0000144791666, '00:00:01.251'],
      ['[Red][h]:mm', -0.0625, '-01:30:00'],
      ['hh:mm', 13.75 / 24, '13:45:00'],
      ['h:mm AM/PM', 0.75, '18:00:00'],
      ['[$-F400]h:mm:ss', 0, '00:00:00'],
      ['h&quot; days&quot;:mm', 0.5, '12:00:00'],
      ['h:mm', 1.0625, '25:30:00'],
      ['<xf numFmtId="46"/>', 1.0625, '25:30:00'],
      ['<xf numFmtId="20"/>', 0.5, '12:00:00'],
      // Moments, of which the time alone is shown, or the day too.
      ['hh:mm', 46053.5, '2026-01-31T12:00:00'],
      ['d.m. hh:mm', 46053.5, '2026-01-31T12:00:00'],
      ['mmm', 46053, '2026-01-31'],
      ['<xf numFmtId="14"/>', 1, '1900-01-01'],
    ])('with the format %s, of the value %f', async (code, value, shown) => {
      expect((await read('a.xlsx', formatted(`<c r="A2" s="1"><v>${value}</v></c>`, code))).data).toEqual([
        { a: shown },
      ]);
    });

    test('also in a workbook that counts from 1904, and between other cells', async () => {
      const cells =
        '<c s="1"><v>0.5</v></c><c r="C2" s="0"><v>7</v></c><c s="1"><f>C2</f><v>1.0625</v></c></row><row><c r="B3" s="1"/><c s="1"><v>0.25</v></c>';
      const { data, columns } = await read('a.xlsx', formatted(cells, '[h]:mm', '<workbookPr date1904="1"/>'));

      expect(data).toEqual([
        { a: '12:00:00', B: null, C: 7, D: '25:30:00' },
        { a: null, B: null, C: '06:00:00', D: null },
      ]);
      expect(columns?.map(({ type }) => type)).toEqual(['text', 'text', 'text', 'text']);
    });
  });

  test('texts are unescaped as XML', async () => {
    const cells = [
      '<c r="A2" t="inlineStr"><is><t xml:space="preserve"> &#x1F600;&amp; </t></is></c>',
      '<c r="B2" t="inlineStr"><is><t><![CDATA[a<b&c]]></t></is></c>',
      '<c r="C2" t="inlineStr"><is><r><t>007</t></r><r><t>8</t></r></is></c>',
      '<c r="D2" t="inlineStr"><is><t></t></is></c><c r="E2"/>',
    ];

    const { data } = await read('a.xlsx', aMinimalWorkbook(cells.join('')));

    expect(data).toEqual([{ a: ' 😀& ', B: 'a<b&c', C: '0078', D: null, E: null }]);
  });

  test('a cell in the last corner of a sheet needs little memory', async () => {
    const { data } = await read('a.xlsx', aMinimalWorkbook('</row><row r="1048576"><c r="C1048576"><v>1</v></c>'));

    expect(data).toEqual([{ a: null, B: null, C: 1 }]);
  });

  test.each([
    ['a row that no sheet has', '</row><row r="1048577"><c r="A1048577"><v>1</v></c>'],
    ['a column that no sheet has', '<c r="XFE2"><v>1</v></c>'],
  ])('a workbook with %s is refused', async (_what, cells) => {
    await expect(read('a.xlsx', aMinimalWorkbook(cells))).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: 'The file is not a readable workbook',
    });
  });

  test('a workbook that unpacks to a very large size is not unpacked', async () => {
    const bomb = aZip({ 'xl/workbook.xml': Buffer.alloc(10) }, { 'xl/workbook.xml': 151 * 1024 * 1024 });

    await expect(read('bomb.xlsx', bomb)).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('150 MB'),
    });
  });

  test.each(['xl/worksheets/sheet1.xml', 'xl/styles.xml'])(
    'a workbook with a false size of %s is not unpacked beyond it',
    async (name) => {
      const bomb = aMinimalWorkbook('', {
        replaced: { [name]: Buffer.alloc(64 * 1024 * 1024, ' ') },
        declared: { [name]: 1_000 },
      });

      await expect(read('bomb.xlsx', bomb)).rejects.toMatchObject({
        code: 'DB_ERROR',
        message: 'The file is not a readable workbook',
      });
    },
  );

  test('a file that is not an archive is refused', async () => {
    const broken = Buffer.concat([Buffer.from('PK\x03\x04 xl/workbook.xml'), Buffer.alloc(100)]);

    await expect(read('a.xlsx', broken)).rejects.toMatchObject({ code: 'DB_ERROR' });
  });

  test('an archive with corrupt bytes is refused', async () => {
    const bytes = aMinimalWorkbook('<c r="A2"><v>1</v></c>');
    const sheet = bytes.indexOf('xl/worksheets/sheet1.xml') + 'xl/worksheets/sheet1.xml'.length;
    bytes.fill(0xff, sheet, sheet + 20);

    await expect(read('a.xlsx', bytes)).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: 'The file is not a readable workbook',
    });
  });
});

test('files of another tenant and deleted files are not found', async () => {
  const { cluster, tenant } = world;
  const file = await world.upload('a.csv', 'a\n1\n');
  await using own = await world.open(excelcsv, { fileInfo: file });
  await using other = await world.open(excelcsv, { fileInfo: file }, await aTenant(cluster));
  await own.test();

  await expect(other.execute({})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await cluster.as(tenant.creator).in(tenant).delete(`T/datasources/files/${file.fileID}`);
  await expect(own.execute({})).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a path that is not an uploaded file is refused before anything is read', async () => {
  for (const filePath of ['/etc/passwd', 'tenant-files/../../etc/passwd', '../a.csv'])
    await expect(world.open(excelcsv, { fileInfo: { filePath } })).rejects.toThrow('must be the filePath');
});

test('a worker has its own folder, which is deleted with it', async () => {
  const another = await startFileWorld();
  const { folder } = another.files;
  await using datasource = await another.open(excelcsv, { fileInfo: await another.upload('a.csv', 'a\n1\n') });
  await datasource.execute({});
  expect(readdirSync(folder)).toHaveLength(1);
  expect(statSync(folder).mode & 0o777).toBe(0o700);

  await another[Symbol.asyncDispose]();

  expect(existsSync(folder)).toBe(false);
});

/** An archive entry, which may declare another size than it has. */
function aZip(parts: Record<string, string | Buffer>, declared: Record<string, number> = {}): Buffer {
  const version = Buffer.from([20, 0, 0, 0, 8, 0, 0, 0, 33, 0]);
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes, { level: 9 });
    const sizes = Buffer.alloc(12);
    sizes.writeUInt32LE(crc32(bytes), 0);
    sizes.writeUInt32LE(packed.length, 4);
    sizes.writeUInt32LE(declared[name] ?? bytes.length, 8);
    const lengths = Buffer.from([name.length, 0, 0, 0]);
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), version, sizes, lengths, Buffer.from(name), packed]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\x01\x02\x14\x00'), version, sizes, lengths, more, Buffer.from(name));
    local.push(entry);
    offset += entry.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(Object.keys(parts).length, 8);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

interface Workbook {
  /** Parts of the workbook, in XML. */
  properties?: string;
  replaced?: Record<string, Buffer>;
  declared?: Record<string, number>;
}

/** A sheet with a header "a" and the cells of a second row. Style 1 is that of a date. */
function aMinimalWorkbook(cells: string, { properties = '', replaced = {}, declared = {} }: Workbook = {}): Buffer {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const rel = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const pack = 'http://schemas.openxmlformats.org/package/2006/relationships';
  const parts = {
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels': `<Relationships xmlns="${pack}"><Relationship Id="r" Type="${rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${rel}">${properties}<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${pack}"><Relationship Id="rId1" Type="${rel}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${rel}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${main}"><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2">${cells}</row></sheetData></worksheet>`,
  };
  return aZip({ ...parts, ...replaced }, declared);
}

describe('browsing', () => {
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
