import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';
import { exampleFields } from '../../runs/examples.ts';

const { workflowID, instanceID, collectionRequestID, userID } = exampleIDs;

export const exampleSubmission = { submittedData: { approved: true } };

export const exampleCollectionRequest = {
  collectionRequestID,
  instanceID,
  workflowID,
  nodeID: 'ask',
  iteration: 0,
  frame: [],
  status: 'COMPLETED',
  collectionType: 'form',
  collectionConfig: { fields: exampleFields },
  ...exampleSubmission,
  submittedBy: userID,
  expiresAt: '2026-03-05T15:05:12.530Z',
  answerURL: null,
  ...exampleTimes,
};

export const exampleForm = {
  collectionType: 'form',
  title: 'Ask a person',
  fields: exampleFields,
  expiresAt: '2026-03-05T15:05:12.530Z',
};
