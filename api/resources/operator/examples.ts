import { exampleIDs } from '../../http/fields/example-ids.ts';

export const exampleOperator = {
  operatorID: exampleIDs.operatorID,
  email: 'ops@example.com',
  operatorTitle: 'On call',
};

export const exampleLogin = { email: exampleOperator.email, password: 'correct horse battery staple' };
