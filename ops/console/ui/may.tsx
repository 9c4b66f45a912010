import type { ReactNode } from 'react';
import { type AssetName, type Permission, useMay } from '../client/may.ts';

/** Shows what the caller may do, and nothing of what they may not. */
export function May({ permission, on, children }: { permission: Permission; on?: AssetName; children: ReactNode }) {
  const may = useMay(on);
  return may(permission) && children;
}
