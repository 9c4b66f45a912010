import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { bindStatement, renderStatement, statementFaults } from '#shared/datasources/queries/statement.ts';
import type { Dialect } from '#shared/datasources/types/define-datasource.ts';

const scope: JsonObject = {
  id: 7,
  name: "O'Neil",
  ids: [1, 2, 3],
  none: [],
  nothing: null,
  evil: "'; drop table x; --",
};

function render(sql: string, dialect: Dialect = 'postgresql'): { sql: string; params: Json[] } {
  return renderStatement(runSync(bindStatement(sql, dialect, scope)), (index) =>
    dialect === 'mysql' ? '?' : `$${index}`,
  );
}

describe('a template is a bound parameter', () => {
  test.each<[string, Dialect, string, Json[]]>([
    ['select {{inputs.id}}', 'postgresql', 'select $1', [7]],
    ['select {{inputs.missing}}', 'postgresql', 'select $1', [null]],
    ['a = {{inputs.id}} and b = {{ inputs.name }}', 'postgresql', 'a = $1 and b = $2', [7, "O'Neil"]],
    ["a = '{{inputs.evil}}'", 'postgresql', 'a = $1', ["'; drop table x; --"]],
    ["a like '%{{inputs.name}}%' or b", 'postgresql', 'a like $1 or b', ["%O'Neil%"]],
    ["a = 'it''s {{inputs.id}}'::text", 'postgresql', 'a = $1::text', ["it's 7"]],
    ["a = E'{{inputs.id}}'", 'postgresql', 'a = $1', ['7']],
    ["a = N'{{inputs.id}}'", 'mysql', 'a = ?', ['7']],
    ['a = "{{inputs.name}}"', 'mysql', 'a = ?', ["O'Neil"]],
    ["'a' = {{inputs.id}} and 'b''{'", 'postgresql', "'a' = $1 and 'b''{'", [7]],
    ["E'\\'' = {{inputs.id}}", 'postgresql', "E'\\'' = $1", [7]],
    ["'\\' = {{inputs.id}}", 'postgresql', "'\\' = $1", [7]],
    ["'\\'' = {{inputs.id}}", 'mysql', "'\\'' = ?", [7]],
    ['"a""b" = {{inputs.id}}', 'postgresql', '"a""b" = $1', [7]],
    ["$$it's$$ || {{inputs.id}}", 'postgresql', "$$it's$$ || $1", [7]],
    ['$x$ $$ $x$ || {{inputs.id}}', 'postgresql', '$x$ $$ $x$ || $1', [7]],
    ['a$$b = {{inputs.id}}', 'postgresql', 'a$$b = $1', [7]],
    ["-- it's\n{{inputs.id}}", 'postgresql', "-- it's\n$1", [7]],
    ["# it's\n{{inputs.id}}", 'mysql', "# it's\n?", [7]],
    ["/* it's /* nested */ */ {{inputs.id}}", 'postgresql', "/* it's /* nested */ */ $1", [7]],
    ["/* it's /* flat */ {{inputs.id}}", 'mysql', "/* it's /* flat */ ?", [7]],
    ['/* {{inputs.evil}} */ 1', 'postgresql', '/* {{inputs.evil}} */ 1', []],
    ['a in ({{inputs.ids}})', 'mysql', 'a in (?, ?, ?)', [1, 2, 3]],
    ['a IN ( {{inputs.none}} )', 'mysql', 'a IN ( NULL )', []],
    ['a = any({{inputs.ids}})', 'postgresql', 'a = any($1)', [[1, 2, 3]]],
    ["[it's] = {{inputs.id}}", 'sqlite', "[it's] = $1", [7]],
    ["d + interval '{{inputs.id}}' day", 'mysql', 'd + interval ? day', ['7']],
    ["t.date = '{{inputs.id}}' at time zone '{{inputs.id}}'", 'postgresql', 't.date = $1 at time zone $2', ['7', '7']],
  ])('%s (%s)', (sql, dialect, expected, params) => {
    expect(runSync(statementFaults(sql, dialect))).toEqual([]);
    expect(render(sql, dialect)).toEqual({ sql: expected, params });
  });
});

describe('a template that cannot be a parameter is an error', () => {
  test.each<[string, Dialect, RegExp]>([
    ['select * from "{{inputs.name}}"', 'postgresql', /inside a quoted name/],
    ['select * from `{{inputs.name}}`', 'mysql', /inside a quoted name/],
    ['do $$ {{inputs.name}} $$', 'postgresql', /dollar-quoted/],
    ['select $1', 'postgresql', /write \{\{inputs\.name\}\} instead of the placeholder \$1/],
    ['select ?', 'mysql', /instead of the placeholder \?/],
    ["select '{{inputs.name}}", 'postgresql', /not closed/],
    ["select '\\n{{inputs.name}}'", 'mysql', /backslash/],
    ["select E'\\n{{inputs.name}}'", 'postgresql', /backslash/],
    ["select date '{{inputs.name}}'", 'postgresql', /write cast\('…' as date\)/],
    ["select interval'{{inputs.id}} days'", 'postgresql', /cast\('…' as interval\)/],
    ["select timestamp '{{inputs.name}}'", 'mysql', /as timestamp/],
    ["select U&'{{inputs.name}}'", 'postgresql', /prefix U&/],
    ["select x'{{inputs.name}}'", 'mysql', /prefix x/],
  ])('%s (%s)', (sql, dialect, fault) => {
    expect(runSync(statementFaults(sql, dialect)).join()).toMatch(fault);
    expect(() => render(sql, dialect)).toThrow();
  });
});

test('no value is ever in the SQL, with any text around it', () => {
  const pieces = [
    "'",
    '"',
    '`',
    '--',
    '\n',
    '/*',
    '*/',
    '$$',
    '$a$',
    '\\',
    ' ',
    'x',
    'E',
    '(',
    ')',
    'in',
    '{{inputs.evil}}',
  ];
  let seed = 1;
  const next = (most: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % most;
  };
  let bound = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const sql = Array.from({ length: 2 + next(9) }, () => pieces[next(pieces.length)]).join('');
    for (const dialect of ['postgresql', 'mysql', 'sqlite', 'duckdb'] as const) {
      if (runSync(statementFaults(sql, dialect)).length > 0) continue;
      const rendered = render(sql, dialect);
      expect(rendered.sql).not.toContain('drop table');
      bound += rendered.params.length;
    }
  }
  expect(bound).toBeGreaterThan(1_000);
});
