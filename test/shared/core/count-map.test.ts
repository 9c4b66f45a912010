import { expect, test } from 'vitest';
import { CountMap } from '#shared/core/count-map.ts';

test('a key is in the map as long as its count is above 0', () => {
  const counts = new CountMap();

  counts.add('a', 2);
  counts.add('b', 1);
  counts.add('a', -1);
  counts.add('b', -1);

  expect([counts.of('a'), counts.of('b'), counts.of('c')]).toEqual([1, 0, 0]);
  expect([...counts.keys()]).toEqual(['a']);
});
