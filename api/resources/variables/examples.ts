import { MASK } from '#shared/core/schema/secret.ts';
import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const description = 'For the shop of the north';

export const exampleVariableCreate = { name: 'shopToken', value: 'a token of the shop', isSecret: true, description };
export const exampleVariableUpdate = { value: 'the next token of the shop' };

export const exampleVariable = {
  id: exampleIDs.variableID,
  tenantID: exampleIDs.tenantID,
  name: 'shopToken',
  value: MASK,
  isSecret: true,
  isReadable: true,
  description,
  ...exampleCreator,
  ...exampleTimes,
};
