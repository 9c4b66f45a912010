import type { Schemas } from '../client/types.ts';

/** The subject of a question, in the words of its node. */
export function questionTitle({
  collectionConfig,
  nodeID = 'Question',
}: Pick<Schemas['CollectionRequest'], 'collectionConfig'> & { nodeID?: string }): string {
  const { title } = collectionConfig;
  return typeof title === 'string' && title !== '' ? title : nodeID;
}

/** Tells questions of the same title apart: the workflow that asks, and the description. */
export function questionLine({ collectionConfig }: Schemas['CollectionRequest'], workflowTitle?: string): string {
  const { description } = collectionConfig;
  return [workflowTitle, description].filter((part) => typeof part === 'string' && part !== '').join(' · ');
}

export function questionKind({ collectionType }: Schemas['CollectionRequest']): string {
  return collectionType === 'approval' ? 'Approval' : 'Form';
}
