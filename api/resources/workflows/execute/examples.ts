import { exampleIDs } from '../../../http/fields/example-ids.ts';

const { instanceID, batchID } = exampleIDs;

export const exampleExecution = {
  instanceID,
  status: 'COMPLETED',
  output: { answer: { approved: true } },
  error: null,
};

export const exampleBulk = {
  items: [
    { args: { orderID: 4711 }, idempotencyKey: 'order-4711' },
    { args: { orderID: 'none' }, tags: ['north'] },
  ],
  label: 'Orders of March',
};

export const exampleBulkAnswer = {
  batchID,
  accepted: 1,
  replayed: 0,
  refused: 1,
  items: [
    { instanceID, isReplay: false, error: null },
    {
      instanceID: null,
      isReplay: false,
      error: {
        code: 'VALIDATION_ERROR',
        message: 'items.1.args.orderID: expected a number, received "none"',
        details: {
          issues: [
            {
              path: ['items', 1, 'args', 'orderID'],
              message: 'expected a number, received "none"',
              type: 'custom',
            },
          ],
        },
      },
    },
  ],
};
