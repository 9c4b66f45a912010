import { z } from 'zod';

/** Types of what ids name, in the words of bundles and searches. */
export type ReferencedType =
  | ('workflow' | 'dataQuery' | 'datasource' | 'listener' | 'cronJob' | 'widget' | 'appPage' | 'dashboard')
  | ('folder' | 'variable' | 'role' | 'user' | 'apiKey' | 'oauthConnection' | 'file' | 'widgetFile' | 'tenant')
  | ('run' | 'version' | 'batch' | 'map' | 'question' | 'event' | 'listenerAction' | 'delivery' | 'backfill')
  | ('import' | 'importJob' | 'libraryEntry' | 'notification' | 'logo' | 'toolCall');

/**
 * Declares what the id in a field names. The JSON schema shows it as `x-reference`, by which an editor offers titles to
 * choose from in place of a field for an id; as a list, where the id may be of several types.
 */
export function referring<S extends z.ZodType>(schema: S, ...types: [ReferencedType, ...ReferencedType[]]): S {
  const [type, ...others] = types;
  return schema.meta({ 'x-reference': others.length === 0 ? type : types }) as S;
}

/** An id in lower case, as in policy and rows: the same id in capitals must not be another object. */
export function idOf(type: ReferencedType) {
  return referring(z.uuid().toLowerCase(), type);
}

/**
 * Declares a field to hold the inputs of what another field of the same object names, by their names. The JSON schema shows that field as
 * `x-inputs-of`, by which an editor draws the declared inputs.
 */
export function inputsOf<S extends z.ZodType>(schema: S, field: string): S {
  return schema.meta({ 'x-inputs-of': field }) as S;
}
