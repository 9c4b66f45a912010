import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../ops/console/', import.meta.url));
const styles = dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles/Button.css')));

test('the console has the styles of every component of Mantine that it uses, at first or where it is used', () => {
  const atFirst = readFileSync(join(root, 'app/mantine.css'), 'utf8');
  const without: string[] = [];
  let used = 0;
  for (const path of globSync('**/*.tsx', { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8');
    const [, names = ''] = /import \{([^}]*)\} from '@mantine\/core'/.exec(text) ?? [];
    for (const name of names.split(',').map((each) => each.trim())) {
      if (!existsSync(join(styles, `${name}.css`))) continue;
      used += 1;
      const style = `styles/${name}.css'`;
      if (!atFirst.includes(style) && !text.includes(style)) without.push(`${path}: ${name}`);
    }
  }
  expect(used).toBeGreaterThan(100);
  expect(without).toEqual([]);
});
