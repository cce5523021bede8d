// SPDX-License-Identifier: GPL-3.0-or-later
// Echo SOCKET: answers each line on any connection, a thread for each.
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

class Echo {
	static void serve(SocketChannel client) {
		ByteBuffer line = ByteBuffer.allocate(64);
		try {
			while (client.read(line.clear()) > 0) {
				List<String> words = new ArrayList<>();
				for (int i = 0; i < 20; i++)
					words.add("word" + i);
				if (line.get(0) == 'r')
					words.add("" + Runtime.getRuntime().availableProcessors());
				String answer = words.size() > 1 ? "hello\n" : "none\n";
				client.write(ByteBuffer.wrap(answer.getBytes()));
			}
		} catch (java.io.IOException gone) {
			return;
		}
	}

	public static void main(String[] words) throws java.io.IOException {
		ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
		server.bind(UnixDomainSocketAddress.of(words[0]));
		for (;;) {
			SocketChannel client = server.accept();
			new Thread(() -> serve(client)).start();
		}
	}
}
