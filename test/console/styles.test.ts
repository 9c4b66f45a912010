import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../ops/console/', import.meta.url));
const styles = dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles/Button.css')));
const components = join(styles, '../esm/components');

/** The components that one of Mantine is made of, itself among them, by the imports of its module. */
function partsOf(name: string, parts = new Set<string>()): Set<string> {
  const path = join(components, name, `${name}.mjs`);
  if (parts.has(name) || !existsSync(path)) return parts;
  parts.add(name);
  for (const [, part = ''] of readFileSync(path, 'utf8').matchAll(/from "\.\.\/(\w+)\/\1\.mjs"/g)) partsOf(part, parts);
  return parts;
}

test('the console has the styles of every component of Mantine that it uses and of its parts, at first or where it is used', () => {
  const atFirst = readFileSync(join(root, 'app/mantine.css'), 'utf8');
  const without: string[] = [];
  let used = 0;
  for (const path of globSync('**/*.tsx', { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8');
    const [, names = ''] = /import \{([^}]*)\} from '@mantine\/core'/.exec(text) ?? [];
    const parts = names.split(',').flatMap((name) => [...partsOf(name.trim())]);
    for (const part of parts.filter((each) => existsSync(join(styles, `${each}.css`)))) {
      used += 1;
      const style = `styles/${part}.css'`;
      if (!atFirst.includes(style) && !text.includes(style)) without.push(`${path}: ${part}`);
    }
  }
  expect(used).toBeGreaterThan(100);
  expect(without).toEqual([]);
});
