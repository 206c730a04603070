//! Redo of changes of structure, on pages that are older than the log record.

use super::Trees;
use super::split::{add_child, cut, remove_child};
use crate::DbError;
use crate::mvcc::WriteKind;
use crate::node::{NodeMut, PageBytes, restore_image};
use crate::pages::Used;
use crate::pool::{CachedFrame, ExclusiveGuard};
use crate::record::{LoggedWrite, PageChanges, Split};

impl Trees {
    /// Redoes a split.
    pub(crate) fn redo_split(
        &self,
        used: &mut Used,
        position: u64,
        record: &[u8],
    ) -> Result<(), DbError> {
        let malformed = || DbError::Record { position, what: "is no split" };
        let split = Split::parse(record).ok_or_else(malformed)?;
        let image = PageBytes::zeroed();
        let images = restore_image(split.images, &image).ok_or_else(malformed)?;
        self.redo_image(used, split.right, &image, position)?;
        if !images.is_empty() {
            restore_image(images, &image).ok_or_else(malformed)?;
            self.redo_image(used, split.left, &image, position)?;
        } else if let Some(mut left) = self.older(used, split.left, position)? {
            let half = cut(left.node(), split.separator).ok_or_else(malformed)?;
            left.replace(&half, position);
        }
        if let Some(mut parent) = self.older(used, split.parent, position)? {
            let node = parent.node();
            let is_inside = node.level() > 0 && node.covers(split.separator);
            if !is_inside || !parent.edit().fits(split.separator.len(), 4) {
                return Err(malformed());
            }
            add_child(&mut parent, split.separator, split.right);
            parent.changed_by(position);
        }
        Ok(())
    }

    /// Redoes a record that frees pages and gives others new contents.
    pub(crate) fn redo_pages(
        &self,
        used: &mut Used,
        position: u64,
        record: &[u8],
    ) -> Result<(), DbError> {
        let malformed = || DbError::Record { position, what: "is no change of pages" };
        let changes = PageChanges::parse(record).ok_or_else(malformed)?;
        let (image, mut images) = (PageBytes::zeroed(), changes.images);
        for page in changes.changed {
            images = restore_image(images, &image).ok_or_else(malformed)?;
            self.redo_image(used, page, &image, position)?;
        }
        if let Some((parent, separator)) = changes.loses
            && let Some(mut parent) = self.older(used, parent, position)?
        {
            if !remove_child(&mut parent, separator) {
                return Err(malformed());
            }
            parent.changed_by(position);
        }
        for page in changes.freed {
            if self.is_older(used, page, position)? {
                self.redo_free(used, page)?;
            }
        }
        Ok(())
    }

    /// Redoes the creation of a root.
    pub(crate) fn redo_create(
        &self,
        used: &mut Used,
        position: u64,
        root: u32,
    ) -> Result<(), DbError> {
        if self.is_older(used, root, position)? {
            used.set(root, true)?;
            Self::begin_root(&mut self.make_anew(used, root)?, position);
        }
        Ok(())
    }

    /// Redoes that a page is freed: a later record says what it is used for then.
    pub(crate) fn redo_free(&self, used: &mut Used, page: u32) -> Result<(), DbError> {
        self.pool.forget(page, |from| used.keep_log(page, from))?;
        used.set(page, false)
    }

    /// Redoes a write of a transaction, unless its leaf has it. If the leaf is not in memory the
    /// write waits for it, where it can. `last` is the frame of the leaf of the write before, or
    /// of the node above if that leaf is in none, and then the same of this one.
    pub(crate) fn redo_write(
        &self,
        write: &LoggedWrite<'_>,
        position: u64,
        last: &mut Option<CachedFrame>,
    ) -> Result<(), DbError> {
        let LoggedWrite { tree, key, change } = *write;
        let (page, found) = self.apply(tree, key, change, position, last.take(), |_| ())?;
        *last = Some(found);
        if change.kind == WriteKind::Delete {
            // Its visit may have been lost, and no version is kept that would remove the ghost.
            self.visits.note(page);
        }
        Ok(())
    }

    /// Gives a page this content unless it has a newer one.
    fn redo_image(
        &self,
        used: &mut Used,
        page: u32,
        image: &PageBytes,
        position: u64,
    ) -> Result<(), DbError> {
        if !self.is_older(used, page, position)? {
            return Ok(());
        }
        used.set(page, true)?;
        let mut held = self.make_anew(used, page)?;
        held.bytes().copy_from(image);
        NodeMut::of(held.bytes()).begin_records();
        held.changed_by(position);
        Ok(())
    }

    /// A page that gets a content from the log, and is held. Until the device has that, the log is
    /// needed from the first change on that the device lacks, also if the page was freed since: a
    /// part of these changes can't be redone.
    fn make_anew(&self, used: &mut Used, page: u32) -> Result<ExclusiveGuard<'_>, DbError> {
        self.pool.forget(page, |from| used.keep_log(page, from))?;
        let held = self.pool.create(page, self.pool.free_frame()?)?;
        if let Some(from) = used.take_changed(page) {
            held.header().changed(from);
        }
        Ok(held)
    }

    /// True if the page is not there, or older than the log record at `position`. A page that the
    /// log freed before may be newer: then it is in use again.
    fn is_older(&self, used: &mut Used, page: u32, position: u64) -> Result<bool, DbError> {
        if !used.is_filled(page) && !used.is_stored(page) {
            return Ok(true);
        }
        if self.pool.is_unused(page) {
            self.pool.is_on_device(page)?;
        }
        let is_older = self.look_until_found(page)?.node().position() < position;
        if !is_older {
            used.set(page, true)?;
        }
        Ok(is_older)
    }

    /// The page, latched, if it is older than the log record at `position`. A page that is not there
    /// was freed later.
    fn older(
        &self,
        used: &Used,
        page: u32,
        position: u64,
    ) -> Result<Option<ExclusiveGuard<'_>>, DbError> {
        if !used.is_filled(page) {
            return Ok(None);
        }
        loop {
            let seen = self.look_until_found(page)?;
            let found = seen.node().position();
            if found >= position || found < used.taken_at(page) {
                return Ok(None);
            }
            if let Some(held) = seen.lock() {
                return Ok(Some(held));
            }
        }
    }

    fn look_until_found(&self, page: u32) -> Result<crate::pool::OptimisticGuard<'_>, DbError> {
        loop {
            if let Some(seen) = self.pool.look(page)? {
                return Ok(seen);
            }
        }
    }
}
