import { expect, test } from 'vitest';
import type { BundledType } from '#api/bundles/assets/bundle-types.ts';
import { referencesIn, withIDs } from '#api/bundles/assets/references.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';

function rewritten(type: BundledType, payload: JsonObject, ids: Record<string, string>): JsonObject {
  return withIDs(payload, runSync(referencesIn(type, payload)), ({ id }) => ids[id]);
}

const [one, other] = [newID(), newID()];
const swapped = { [one]: other, [other]: one };

test('widgets in keys of objects get other ids, also if two change places', () => {
  const layoutOf = (first: string, second: string): JsonObject => ({
    dashboardConfig: {
      layouts: {
        [`widget_${first}_1`]: { x: 0, content: { [`widget_${second}`]: `widget_${first}_2` } },
        [`widget_${second}_1`]: { x: 1 },
        grid: 12,
      },
    },
  });

  expect(rewritten('dashboard', layoutOf(one, other), swapped)).toEqual(layoutOf(other, one));
});

test('the given payload stays as it is', () => {
  const payload = { dashboardConfig: { [`widget_${one}_1`]: [`widget_${one}_1`] } };
  const before = structuredClone(payload);

  rewritten('dashboard', payload, swapped);

  expect(payload).toEqual(before);
});

test('roles that approve get other ids, and approvers that may be users are not missed', () => {
  const workflowOf = (id: string) => ({
    workflowNodes: [{ id: 'a', type: 'approval', data: { message: 'Pay?', approvers: ['managers', id, 'a@b.test'] } }],
  });
  const references = runSync(referencesIn('workflow', workflowOf(one)));

  expect(references).toMatchObject([{ type: 'role', id: one, isNeeded: false, isGuess: true }]);
  expect(rewritten('workflow', workflowOf(one), swapped)).toEqual(workflowOf(other));
});
