import { expect, test } from 'vitest';
import { bisect } from '#shared/concurrency/bisect.ts';

test('halves a refused batch until each refused item is alone, and handles the others together', async () => {
  const handled: string[] = [];
  const refused: string[] = [];

  await bisect(
    [...'abXcdefY'],
    async (part) => {
      if (part.some((item) => item === item.toUpperCase())) return new Error('refused');
      handled.push(part.join(''));
      return undefined;
    },
    (item, error) => refused.push(`${item} ${(error as Error).message}`),
  );

  expect(refused).toEqual(['X refused', 'Y refused']);
  expect(handled).toEqual(['ab', 'c', 'de', 'f']);
});

test('does nothing without items, and passes an error that no item has caused', async () => {
  const attempt = async () => Promise.reject(new Error('away'));

  await bisect([], attempt, () => undefined);

  await expect(bisect(['a', 'b'], attempt, () => undefined)).rejects.toThrow('away');
});
