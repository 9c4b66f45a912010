import { exampleIDs } from '../http/fields/example-ids.ts';

const { workflowID } = exampleIDs;

export const exampleRunInputs = { args: { orderID: 4711 } };

export const exampleFilter = { workflowID, errorCode: 'UPSTREAM_TIMEOUT', from: '2026-03-05T12:00:00.000Z' };

export const exampleFields = [{ key: 'approved', label: 'Approve the order?', fieldType: 'checkbox', required: true }];
