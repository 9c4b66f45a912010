import { z } from 'zod';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const Json: z.ZodType<Json> = z.json() as z.ZodType<Json>;
/** JSON that our own code has made. Not checked: with a million rows the check would block the process for seconds. */
export const OwnJson = z.unknown() as z.ZodType<Json>;
export const OwnJsonObject = z.unknown() as z.ZodType<JsonObject>;
export const JsonObject = z.record(z.string(), Json);

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
