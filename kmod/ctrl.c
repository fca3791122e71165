// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the control connection. Calls are limited to MC_CTRL_CALLS and each message is answered at most once,
 * which is less than the number of receives, and a receive is posted again before its message is handled. A burst of
 * revocations beyond that waits in the sender's queue pair until receives are there (RNR retry).
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "cset.h"
#include "fault.h"
#include "ibdev.h"
#include "net.h"
#include "verb.h"

#define AREA_BYTES	(2 * MC_CTRL_BUFS * MC_WIRE_MSG_MAX)
#define TX_WAIT		HZ

struct mc_call {
	struct list_head link;
	struct completion done;
	struct mc_wire_msg *msg;
	int err;
};

static void tx_put(struct mc_cset *set, struct mc_ctrl_buf *buf)
{
	spin_lock_irq(&set->ctrl_lock);
	list_add(&buf->link, &set->tx_free);
	spin_unlock_irq(&set->ctrl_lock);
	wake_up(&set->tx_wait);
}

static struct mc_ctrl_buf *tx_try_get(struct mc_cset *set)
{
	struct mc_ctrl_buf *buf;

	spin_lock_irq(&set->ctrl_lock);
	buf = list_first_entry_or_null(&set->tx_free, struct mc_ctrl_buf, link);
	if (buf)
		list_del(&buf->link);
	spin_unlock_irq(&set->ctrl_lock);
	return buf;
}

static void tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mc_ctrl_buf *buf = container_of(wc->wr_cqe, struct mc_ctrl_buf, cqe);
	struct mc_cset *set = buf->set;

	if (wc->status != IB_WC_SUCCESS && wc->status != IB_WC_WR_FLUSH_ERR)
		mc_cset_break(set, -EIO, "control send: %s", ib_wc_status_msg(wc->status));
	tx_put(set, buf);
}

static int tx_post(struct mc_cset *set, struct mc_ctrl_buf *buf, u32 len)
{
	struct ib_sge sge = { .addr = buf->dma, .length = len, .lkey = set->dev->ctrl_pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.wr_cqe = &buf->cqe, .sg_list = &sge, .num_sge = 1,
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};
	int ret = -ENOTCONN;

	ib_dma_sync_single_for_device(set->dev->ib, buf->dma, len, DMA_TO_DEVICE);
	mutex_lock(&set->post_lock);
	if (!set->dead && set->conn[0].id && set->conn[0].up)
		ret = mc_post_send(set->conn[0].id->qp, &wr);
	mutex_unlock(&set->post_lock);
	return ret;
}

static int send_in(struct mc_cset *set, struct mc_ctrl_buf *buf, const struct mc_wire_msg *msg)
{
	int ret = mc_wire_encode(msg, buf->data);

	if (ret > 0 && mc_fault_hit(ctrl_drop)) {
		tx_put(set, buf);
		return 0;
	}
	if (mc_fault_value(ctrl_delay_ms))
		msleep(mc_fault_value(ctrl_delay_ms));
	if (ret > 0)
		ret = tx_post(set, buf, ret);
	if (ret) {
		tx_put(set, buf);
		mc_cset_break(set, ret, "control message %u could not be sent: error %d", msg->type, ret);
	}
	return ret;
}

int mc_ctrl_send(struct mc_cset *set, const struct mc_wire_msg *msg)
{
	struct mc_ctrl_buf *buf = NULL;

	wait_event_timeout(set->tx_wait, mc_cset_broken(set) || (buf = tx_try_get(set)), TX_WAIT);
	if (!buf) {
		mc_cset_break(set, -ETIMEDOUT, "no control message was sent for a second");
		return -ENOTCONN;
	}
	return send_in(set, buf, msg);
}

/* An owner that answers pings but no call keeps all slots for long: waiting for one can be killed, too. */
static long take_slot(struct mc_cset *set, long left)
{
	bool taken = false;

	left = wait_event_killable_timeout(set->tx_wait, mc_cset_broken(set) ||
					   (taken = atomic_dec_if_positive(&set->call_slots) >= 0), left);
	if (taken)
		return max(left, 1L);
	return left < 0 ? -EINTR : left ? -ENOTCONN : -ETIMEDOUT;
}

int mc_ctrl_call(struct mc_cset *set, struct mc_wire_msg *msg, u32 timeout_ms)
{
	struct mc_call call = { .msg = msg, .err = -EINPROGRESS };
	long left = take_slot(set, msecs_to_jiffies(timeout_ms));
	bool killed = false;
	int ret;

	if (left < 0)
		return left;
	init_completion(&call.done);
	spin_lock_irq(&set->ctrl_lock);
	msg->id = ++set->next_id;
	list_add_tail(&call.link, &set->calls);
	spin_unlock_irq(&set->ctrl_lock);
	/* Whoever breaks the set fails the calls of the list; one added after that is caught by the send. */
	ret = mc_ctrl_send(set, msg);
	if (!ret && !mc_cset_broken(set))
		killed = wait_for_completion_killable_timeout(&call.done, left) < 0;
	spin_lock_irq(&set->ctrl_lock);
	if (call.err == -EINPROGRESS) {
		list_del(&call.link);
		call.err = ret ? -ENOTCONN : killed ? -EINTR : -ETIMEDOUT;
		if (mc_cset_broken(set))
			call.err = -ENOTCONN;
	}
	spin_unlock_irq(&set->ctrl_lock);
	atomic_inc(&set->call_slots);
	wake_up(&set->tx_wait);
	return call.err;
}

static size_t list_count(struct list_head *list)
{
	struct list_head *at;
	size_t n = 0;

	list_for_each(at, list)
		n++;
	return n;
}

static bool tx_idle(struct mc_cset *set)
{
	bool idle;

	spin_lock_irq(&set->ctrl_lock);
	idle = list_count(&set->tx_free) == MC_CTRL_BUFS;
	spin_unlock_irq(&set->ctrl_lock);
	return idle;
}

void mc_ctrl_flush(struct mc_cset *set)
{
	wait_event_timeout(set->tx_wait, mc_cset_broken(set) || tx_idle(set), HZ / 10);
}

/* Also from a device's interrupt: an asynchronous event of a queue pair breaks the set. */
void mc_ctrl_fail_calls(struct mc_cset *set)
{
	struct mc_call *call, *next;
	unsigned long flags;

	spin_lock_irqsave(&set->ctrl_lock, flags);
	list_for_each_entry_safe(call, next, &set->calls, link) {
		list_del(&call->link);
		call->err = -ENOTCONN;
		complete(&call->done);
	}
	spin_unlock_irqrestore(&set->ctrl_lock, flags);
	wake_up(&set->tx_wait);
}

static bool is_answer(u8 type)
{
	return type == MC_WIRE_CHALLENGE || type == MC_WIRE_HELLO_ACK || type == MC_WIRE_SEG_INFO ||
	       type == MC_WIRE_SEG_KEYS || type == MC_WIRE_PONG || type == MC_WIRE_ERROR ||
	       type == MC_WIRE_SEG_FOUND || type == MC_WIRE_FENCE_ACK;
}

/* An answer to a call that has timed out finds nobody and is dropped. */
static void answer(struct mc_cset *set, struct mc_wire_msg *msg)
{
	struct mc_call *call;

	spin_lock_irq(&set->ctrl_lock);
	list_for_each_entry(call, &set->calls, link) {
		if (call->msg->id != msg->id)
			continue;
		list_del(&call->link);
		*call->msg = *msg;
		call->err = msg->status;
		complete(&call->done);
		break;
	}
	spin_unlock_irq(&set->ctrl_lock);
}

static int rx_post(struct mc_ctrl_buf *buf)
{
	struct mc_cset *set = buf->set;
	struct ib_sge sge = { .addr = buf->dma, .length = MC_WIRE_MSG_MAX, .lkey = set->dev->ctrl_pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &buf->cqe, .sg_list = &sge, .num_sge = 1 };
	int ret = -ENOTCONN;

	ib_dma_sync_single_for_device(set->dev->ib, buf->dma, MC_WIRE_MSG_MAX, DMA_FROM_DEVICE);
	mutex_lock(&set->post_lock);
	if (!set->dead)
		ret = mc_post_recv(set->conn[0].id->qp, &wr);
	mutex_unlock(&set->post_lock);
	return ret;
}

/*
 * A PING is answered at once, whatever the messages before it are waiting for; without a free buffer it goes
 * unanswered.
 */
static bool pong(struct mc_cset *set, struct mc_ctrl_buf *rx)
{
	struct mc_ctrl_buf *tx;

	if (rx->len != MC_WIRE_HDR_LEN || rx->data[MC_WIRE_HDR_TYPE] != MC_WIRE_PING)
		return false;
	tx = tx_try_get(set);
	if (tx) {
		memcpy(tx->data, rx->data, MC_WIRE_HDR_LEN);
		tx->data[MC_WIRE_HDR_TYPE] = MC_WIRE_PONG;
		if (mc_fault_hit(ctrl_drop) || tx_post(set, tx, MC_WIRE_HDR_LEN))
			tx_put(set, tx);
	}
	rx_post(rx);
	return true;
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mc_ctrl_buf *buf = container_of(wc->wr_cqe, struct mc_ctrl_buf, cqe);
	struct mc_cset *set = buf->set;

	if (wc->status != IB_WC_SUCCESS) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			mc_cset_break(set, -EIO, "control receive: %s", ib_wc_status_msg(wc->status));
		return;
	}
	ib_dma_sync_single_for_cpu(set->dev->ib, buf->dma, MC_WIRE_MSG_MAX, DMA_FROM_DEVICE);
	buf->len = wc->byte_len;
	WRITE_ONCE(set->last_rx, jiffies);
	if (pong(set, buf))
		return;
	spin_lock_irq(&set->ctrl_lock);
	list_add_tail(&buf->link, &set->rx_list);
	spin_unlock_irq(&set->ctrl_lock);
	queue_work(mc_net_wq, &set->rx_work);
}

static struct mc_ctrl_buf *rx_next(struct mc_cset *set)
{
	struct mc_ctrl_buf *buf;

	spin_lock_irq(&set->ctrl_lock);
	buf = list_first_entry_or_null(&set->rx_list, struct mc_ctrl_buf, link);
	if (buf)
		list_del(&buf->link);
	spin_unlock_irq(&set->ctrl_lock);
	return buf;
}

static void rx_handle(struct mc_cset *set, struct mc_ctrl_buf *buf, struct mc_wire_msg *msg)
{
	int ret = mc_wire_decode(msg, buf->data, buf->len);
	u8 type = msg->type;

	if (rx_post(buf))
		return;		/* the set is being taken down */
	if (ret == -EOPNOTSUPP) {
		msg->type = MC_WIRE_ERROR;
		msg->status = -EOPNOTSUPP;
		mc_ctrl_send(set, msg);
	} else if (ret) {
		mc_cset_break(set, -EPROTO, "control message of type %u and %u bytes is malformed", type, buf->len);
	} else if (is_answer(type)) {
		answer(set, msg);
	} else {
		set->ops->message(set, msg);
	}
}

static void rx_work(struct work_struct *work)
{
	struct mc_cset *set = container_of(work, struct mc_cset, rx_work);
	struct mc_wire_msg *msg = kmalloc(sizeof(*msg), GFP_KERNEL);
	struct mc_ctrl_buf *buf;

	if (!msg) {
		mc_cset_break(set, -ENOMEM, "no memory for a control message");
		return;
	}
	while (!mc_cset_broken(set) && (buf = rx_next(set)))
		rx_handle(set, buf, msg);
	kfree(msg);
}

static void buf_init(struct mc_cset *set, struct mc_ctrl_buf *buf, u32 slot,
		     void (*done)(struct ib_cq *, struct ib_wc *))
{
	buf->set = set;
	buf->cqe.done = done;
	buf->data = set->area + slot * MC_WIRE_MSG_MAX;
	INIT_LIST_HEAD(&buf->link);
}

int mc_ctrl_init(struct mc_cset *set)
{
	u32 i;

	spin_lock_init(&set->ctrl_lock);
	INIT_LIST_HEAD(&set->tx_free);
	INIT_LIST_HEAD(&set->rx_list);
	INIT_LIST_HEAD(&set->calls);
	init_waitqueue_head(&set->tx_wait);
	INIT_WORK(&set->rx_work, rx_work);
	atomic_set(&set->call_slots, MC_CTRL_CALLS);
	set->last_rx = jiffies;
	set->area = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(AREA_BYTES));
	if (!set->area)
		return -ENOMEM;
	for (i = 0; i < MC_CTRL_BUFS; i++) {
		buf_init(set, &set->rx[i], i, rx_done);
		buf_init(set, &set->tx[i], MC_CTRL_BUFS + i, tx_done);
		list_add_tail(&set->tx[i].link, &set->tx_free);
	}
	return 0;
}

int mc_ctrl_start(struct mc_cset *set)
{
	int ret = 0;
	u32 i;

	set->area_dma = ib_dma_map_single(set->dev->ib, set->area, AREA_BYTES, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(set->dev->ib, set->area_dma))
		return -ENOMEM;
	set->area_mapped = true;
	for (i = 0; i < MC_CTRL_BUFS; i++) {
		set->rx[i].dma = set->area_dma + (set->rx[i].data - (u8 *)set->area);
		set->tx[i].dma = set->area_dma + (set->tx[i].data - (u8 *)set->area);
	}
	for (i = 0; i < MC_CTRL_BUFS && !ret; i++)
		ret = rx_post(&set->rx[i]);
	return ret;
}

void mc_ctrl_stop(struct mc_cset *set)
{
	cancel_work_sync(&set->rx_work);
}

void mc_ctrl_free(struct mc_cset *set)
{
	if (set->area_mapped)
		ib_dma_unmap_single(set->dev->ib, set->area_dma, AREA_BYTES, DMA_BIDIRECTIONAL);
	set->area_mapped = false;
	free_pages((unsigned long)set->area, get_order(AREA_BYTES));
	set->area = NULL;
}
