/** The kinds of assets that a bundle holds, in the order of its items: each after those that it may need. */
export const bundledTypes = [
  'folder',
  'variable',
  'datasource',
  'dataQuery',
  'workflow',
  'widget',
  'listener',
  'appPage',
  'dashboard',
  'cronJob',
  'role',
] as const;
export type BundledType = (typeof bundledTypes)[number];

/** Assets that others name and bundles do not hold: credentials and bytes stay with their tenant. */
export type UnbundledType = 'oauthConnection' | 'file';

export function isBundled(type: string): type is BundledType {
  return (bundledTypes as readonly string[]).includes(type);
}
