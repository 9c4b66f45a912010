import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: what it saves keeps the number, so that `If-Match` does not see it. */
export class Migration20261123063000_WidgetVersions extends Migration {
  override up(): void {
    this.addSql('alter table widget add column version_number integer not null default 1');
    this.addSql('drop trigger widget_added_or_gone on widget');
    this.addSql('drop trigger widget_changed on widget');
    this.addSql(`
create trigger widget_added_or_gone after insert or delete on widget
for each row execute function note_asset_change('widget', 'versioned')`);
    this.addSql(`
create trigger widget_changed after update on widget
for each row when (old.updated_at is distinct from new.updated_at or old.folder_id is distinct from new.folder_id)
execute function note_asset_change('widget', 'versioned')`);
  }
}
