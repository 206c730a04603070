/*
 * Prints how many blocks each placement handle of an NVMe namespace takes until its reclaim unit is full
 * (I/O Management Receive, Reclaim Unit Handle Status).
 */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

int main(int count, char **arguments)
{
	static unsigned char answer[4096] __attribute__((aligned(4096)));
	struct nvme_passthru_cmd command = {
		.opcode = 0x12,
		.nsid = 1,
		.addr = (uintptr_t)answer,
		.data_len = sizeof answer,
		.cdw10 = 1,
		.cdw11 = sizeof answer / 4 - 1,
	};
	int drive = count == 2 ? open(arguments[1], O_RDONLY) : -1;
	if (drive < 0 || ioctl(drive, NVME_IOCTL_IO_CMD, &command) != 0) {
		perror("handles");
		return 1;
	}
	for (int i = 0; i < (answer[14] | answer[15] << 8); i++) {
		uint64_t left;
		memcpy(&left, answer + 16 + 32 * i + 8, sizeof left);
		printf("%s%llu", i == 0 ? "" : " ", (unsigned long long)left);
	}
	puts("");
	return 0;
}
