import { Link } from '@tanstack/react-router';
import { May } from './may.tsx';

/** Leads to what has changed an asset. */
export function WhoChanged({ tenantID, assetID }: { tenantID: string; assetID: string }) {
  return (
    <May permission="audit.list">
      <Link className="link nowrap" to="/t/$tenantID/audit" params={{ tenantID }} search={{ assetID, changes: true }}>
        Who changed this
      </Link>
    </May>
  );
}
