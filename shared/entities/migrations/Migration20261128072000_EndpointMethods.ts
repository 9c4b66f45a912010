import { Migration } from '@mikro-orm/migrations';

/** Listeners with different methods share a path; a lock of the tenant keeps two with one method apart. Old code keeps all apart. */
export class Migration20261128072000_EndpointMethods extends Migration {
  override up(): void {
    this.addSql('create index listener_endpoint_shape on listener (tenant_id, endpoint_shape)');
    this.addSql('drop index listener_endpoint');
  }
}
