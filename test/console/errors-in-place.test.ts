import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../ops/console/', import.meta.url));

/** A function that shows the error of a reading in place of all it has, whether or not it has data of an earlier one. */
function losesData(text: string): boolean {
  const names = [...text.matchAll(/const (\w+) = use(?:Infinite)?Query\b/g)].map(([, name]) => `${name}\\.error`);
  const own = /const \{[^}]*\berror(?:: (\w+))?\b[^}]*\} = use(?:Infinite)?Query\b/.exec(text);
  if (own) names.push(own[1] ?? 'error');
  return names.some((name) => new RegExp(`if \\(${name}\\)\\s*return`).test(text));
}

test('a part of the console that has data keeps them when a later reading fails', () => {
  const losing = globSync('**/*.tsx', { cwd: root }).flatMap((path) => {
    const functions = readFileSync(join(root, path), 'utf8').split(/^\}$/m);
    return functions.some(losesData) ? [path] : [];
  });
  expect(losing).toEqual([]);
  expect(losesData('const { data, error } = useQuery(read);\n  if (error) return <Problem />;')).toBe(true);
  expect(losesData('const read = useQuery(one);\n  if (read.error)\n    return <Problem />;')).toBe(true);
  expect(losesData('const read = useQuery(one);\n  const error = errorInPlaceOf(read);\n  if (error) return 1;')).toBe(
    false,
  );
});
